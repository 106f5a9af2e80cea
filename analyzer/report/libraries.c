/* The text report's libraries: by time and by cost. */
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LIBRARIES_SHOWN = 25 };

static struct tg_error *add_library(const struct tg_report_page *page, const struct tg_library_use *use,
                                    struct tg_text_table *table)
{
    char path[1024], moment[TG_QUANTITY_SIZE], processes[TG_QUANTITY_SIZE], loads[TG_QUANTITY_SIZE];
    char unloads[TG_QUANTITY_SIZE], stop[TG_QUANTITY_SIZE];
    const char *cells[] = {tg_quantity_moment(use->first_ns, page->report->start_ns, 6, moment),
                           tg_quantity_count(use->processes, processes),
                           tg_quantity_count(use->loads, loads),
                           tg_quantity_count(use->unloads, unloads),
                           tg_quantity_duration(use->stop_ns, stop),
                           tg_printable(use->path, path, sizeof path)};
    return tg_text_table_add(table, cells);
}

typedef bool wanted_fn(const struct tg_library_use *use);

static bool is_loaded_late(const struct tg_library_use *use)
{
    return use->loads > 0 && !use->startup;
}

static bool is_loaded(const struct tg_library_use *use)
{
    return use->loads > 0;
}

static bool has_cost(const struct tg_library_use *use)
{
    return use->stop_ns > 0;
}

/* USES[0, COUNT) that are WANTED, in their order, as a table; how many did not fit is said below it. */
static struct tg_error *write_table(const struct tg_report_page *page, const struct tg_library_use **uses,
                                    size_t count, wanted_fn *wanted)
{
    static const char *const headings[] = {">FIRST LOAD", ">PROCESSES", ">LOADS", ">UNLOADS",
                                           ">STOPPED",    "LIBRARY",    NULL};
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    uint64_t shown = 0, found = 0;
    for (size_t i = 0; error == NULL && i < count; i++) {
        if (!wanted(uses[i]))
            continue;
        found++;
        if (page->options->all || shown < LIBRARIES_SHOWN) {
            error = add_library(page, uses[i], table);
            shown++;
        }
    }
    if (error == NULL && found > 0)
        error = tg_text_table_print(table, page->stream);
    else if (error == NULL)
        fputs("none\n", page->stream);
    if (error == NULL && shown < found) {
        char rest[TG_QUANTITY_SIZE];
        fprintf(page->stream, "and %s more; --all shows them\n", tg_quantity_count(found - shown, rest));
    }
    tg_text_table_destroy(table);
    return error;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void write_totals(const struct tg_report_page *page, const struct tg_library_use *const *uses,
                         size_t count)
{
    struct tg_library_totals totals = tg_library_model_totals(page->report->libraries);
    uint64_t startup = 0, late = 0;
    for (size_t i = 0; i < count; i++) {
        startup += uses[i]->loads > 0 && uses[i]->startup;
        late += is_loaded_late(uses[i]);
    }
    char text[TG_QUANTITY_SIZE], more[TG_QUANTITY_SIZE];
    fprintf(page->stream, "%s librar%s loaded by running programs, %s at their start-up only\n",
            tg_quantity_count(late, text), late == 1 ? "y" : "ies", tg_quantity_count(startup, more));
    fprintf(page->stream, "%s load event%s (", tg_quantity_count(totals.load_events, text),
            plural(totals.load_events));
    fprintf(page->stream, "%s at start-up, ", tg_quantity_count(totals.startup_events, text));
    fprintf(page->stream, "%s at loader stops, ", tg_quantity_count(totals.loader_events, text));
    fprintf(page->stream, "%s found later", tg_quantity_count(totals.catch_up_events, text));
    if (totals.agent_events > 0)
        fprintf(page->stream, ", %s seen by the agent without a stop",
                tg_quantity_count(totals.agent_events, text));
    fprintf(page->stream, "), stopped for %s\n", tg_quantity_duration(totals.load_stop_ns, more));
    if (totals.unload_events > 0)
        fprintf(page->stream, "%s unload event%s, stopped for %s\n",
                tg_quantity_count(totals.unload_events, text), plural(totals.unload_events),
                tg_quantity_duration(totals.unload_stop_ns, more));
    if (totals.null_events > 0)
        fprintf(page->stream, "%s null event%s (the loader stopped, nothing had changed), stopped for %s\n",
                tg_quantity_count(totals.null_events, text), plural(totals.null_events),
                tg_quantity_duration(totals.null_stop_ns, more));
}

struct tg_error *tg_report_libraries(const struct tg_report_page *page)
{
    size_t count = tg_library_model_count(page->report->libraries);
    const struct tg_library_use **uses = calloc(count + 1, sizeof *uses);
    if (uses == NULL)
        return tg_error_no_memory();
    tg_library_model_by_time(page->report->libraries, uses);
    tg_report_title(page, "Libraries");
    if (count == 0) {
        free(uses);
        fputs("none\n", page->stream);
        return NULL;
    }
    write_totals(page, uses, count);
    tg_report_title(page, page->options->all ? "Libraries by time" : "Libraries by time, after start-up");
    struct tg_error *error = write_table(page, uses, count, page->options->all ? is_loaded : is_loaded_late);
    if (error == NULL) {
        tg_report_title(page, "Libraries by cost");
        tg_library_model_by_cost(page->report->libraries, uses);
        error = write_table(page, uses, count, has_cost);
    }
    free(uses);
    return error;
}
