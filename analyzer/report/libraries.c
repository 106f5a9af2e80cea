/* Libraries in a report: by time and by cost, and calls of dlopen and its relatives with the ones that
 * failed. */
#include "analyzer/output/quantity.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LIBRARIES_SHOWN = 25, FAILURES_SHOWN = 10 };

#define USE(heading, key, form, member) TG_FIELD(struct tg_library_use, heading, key, form, member)

static const struct tg_report_field library_fields[] = {
    USE(NULL, "path", TEXT, path),
    USE(NULL, "build_id", TEXT, build_id),
    USE(NULL, "size_bytes", COUNT, size_bytes),
    USE(">FIRST LOAD", "first_ns", MOMENT, first_ns),
    USE(NULL, "first_process", COUNT, first_process),
    USE(NULL, "startup", FLAG, startup),
    USE(">PROCESSES", "processes", COUNT, processes),
    USE(">LOADS", "loads", COUNT, loads),
    USE(NULL, "asked_loads", COUNT, asked_loads),
    USE(">UNLOADS", "unloads", COUNT, unloads),
    USE(">STOPPED", "stop_ns", DURATION, stop_ns),
    USE(NULL, "handle_ns", DURATION, handle_ns),
    USE("LIBRARY", NULL, TEXT, path),
    {0},
};

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

/* A table of the wanted ones of USES[0, COUNT), in their order. */
static struct tg_error *write_table(const struct tg_report_page *page, const struct tg_library_use **uses,
                                    size_t count, wanted_fn *wanted)
{
    const struct tg_library_use **found = calloc(count + 1, sizeof(const struct tg_library_use *));
    size_t n = 0;
    if (found == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        if (wanted(uses[i]))
            found[n++] = uses[i];
    size_t shown = page->options->all || n < LIBRARIES_SHOWN ? n : LIBRARIES_SHOWN;
    const struct tg_report_rows table = {library_fields, found, n, 0};
    struct tg_error *error = tg_report_table(page, &table, shown);
    if (n == 0)
        fputs("none\n", page->stream);
    if (error == NULL)
        tg_report_more(page, 0, n - shown);
    free(found);
    return error;
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
    fprintf(page->stream, "%s librar%s loaded at run time, %s at program start-up only\n",
            tg_quantity_count(late, text), late == 1 ? "y" : "ies", tg_quantity_count(startup, more));
    fprintf(page->stream, "%s load event%s (", tg_quantity_count(totals.load_events, text),
            tg_report_plural(totals.load_events));
    fprintf(page->stream, "%s at start-up, ", tg_quantity_count(totals.startup_events, text));
    fprintf(page->stream, "%s at loader stops, ", tg_quantity_count(totals.loader_events, text));
    fprintf(page->stream, "%s found later", tg_quantity_count(totals.catch_up_events, text));
    if (totals.agent_events > 0)
        fprintf(page->stream, ", %s seen by the agent without a stop",
                tg_quantity_count(totals.agent_events, text));
    fprintf(page->stream, "), stopped for %s\n", tg_quantity_duration(totals.load_stop_ns, more));
    if (totals.unload_events > 0)
        fprintf(page->stream, "%s unload event%s, stopped for %s\n",
                tg_quantity_count(totals.unload_events, text), tg_report_plural(totals.unload_events),
                tg_quantity_duration(totals.unload_stop_ns, more));
    if (totals.null_events > 0)
        fprintf(page->stream, "%s null event%s (loader stops at which nothing had changed), stopped for %s\n",
                tg_quantity_count(totals.null_events, text), tg_report_plural(totals.null_events),
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

struct tg_error *tg_report_libraries_json(const struct tg_report *report, struct tg_json *json)
{
    size_t count = tg_library_model_count(report->libraries);
    const struct tg_library_use **uses = calloc(count + 1, sizeof *uses);
    if (uses == NULL)
        return tg_error_no_memory();
    struct tg_library_totals totals = tg_library_model_totals(report->libraries);
    tg_json_key(json, "library_totals");
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "distinct", count);
    tg_json_member_unsigned(json, "objects", totals.objects);
    tg_json_member_unsigned(json, "load_events", totals.load_events);
    tg_json_member_unsigned(json, "startup_events", totals.startup_events);
    tg_json_member_unsigned(json, "loader_events", totals.loader_events);
    tg_json_member_unsigned(json, "catch_up_events", totals.catch_up_events);
    tg_json_member_unsigned(json, "agent_events", totals.agent_events);
    tg_json_member_unsigned(json, "in_process_events", totals.in_process_events);
    tg_json_member_unsigned(json, "unload_events", totals.unload_events);
    tg_json_member_unsigned(json, "null_events", totals.null_events);
    tg_json_member_unsigned(json, "load_stop_ns", totals.load_stop_ns);
    tg_json_member_unsigned(json, "unload_stop_ns", totals.unload_stop_ns);
    tg_json_member_unsigned(json, "null_stop_ns", totals.null_stop_ns);
    tg_json_end_object(json);
    tg_library_model_by_time(report->libraries, uses);
    const struct tg_report_rows rows = {library_fields, uses, count, 0};
    tg_report_array(json, report, "libraries", &rows);
    free(uses);
    return NULL;
}

/* ---- calls of dlopen and its relatives */

struct failure_row {
    struct tg_load_failure failure;
    const char *call;
    char address[32];
    const char *caller; /* the object that called, or the address */
};

#define FAILURE(heading, key, form, member) TG_FIELD(struct failure_row, heading, key, form, member)

static const struct tg_report_field failure_fields[] = {
    FAILURE(">FIRST", "first_ns", MOMENT, failure.first_ns),
    FAILURE(NULL, "first_process", COUNT, failure.first_process),
    FAILURE(">TIMES", "times", COUNT, failure.times),
    FAILURE(NULL, "call", TEXT, call),
    TG_FIELD_ELSE(struct failure_row, "LIBRARY", "path", TEXT, failure.path, "-"),
    FAILURE(NULL, "caller", ADDRESS, failure.caller),
    FAILURE(NULL, "caller_object", TEXT, failure.object),
    FAILURE("CALLER", NULL, TEXT, caller),
    FAILURE("ERROR", "error", TEXT, failure.error),
    {0},
};

/* Rows of all failures that were kept, the caller's to free. NULL without memory. */
static struct failure_row *collect_failures(const struct tg_report *report, size_t *count)
{
    *count = tg_load_calls_count(report->load_calls);
    struct failure_row *rows = calloc(*count + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < *count; i++) {
        struct failure_row *row = &rows[i];
        row->failure = *tg_load_calls_at(report->load_calls, i);
        row->call =
            tg_field_value_name(&tg_event_schema(TG_EVENT_LIBRARY_CALL)->fields[0], row->failure.call);
        if (row->call == NULL)
            row->call = "unknown";
        snprintf(row->address, sizeof row->address, "0x%" PRIx64, row->failure.caller);
        row->caller = *row->failure.object == '\0' ? row->address : row->failure.object;
    }
    return rows;
}

static struct tg_error *write_failures(const struct tg_report_page *page, uint64_t failed)
{
    size_t count;
    struct failure_row *rows = collect_failures(page->report, &count);
    if (rows == NULL)
        return tg_error_no_memory();
    size_t shown = page->options->all || count < FAILURES_SHOWN ? count : FAILURES_SHOWN;
    const struct tg_report_rows table = {failure_fields, rows, count, sizeof *rows};
    struct tg_error *error = tg_report_table(page, &table, shown);
    for (size_t i = 0; i < shown; i++)
        failed -= rows[i].failure.times;
    if (error == NULL)
        tg_report_more(page, 0, failed);
    free(rows);
    return error;
}

struct tg_error *tg_report_load_calls(const struct tg_report_page *page)
{
    struct tg_load_call_totals totals = tg_load_calls_totals(page->report->load_calls);
    uint64_t calls =
        totals.calls[TG_CALL_DLOPEN] + totals.calls[TG_CALL_DLMOPEN] + totals.calls[TG_CALL_DLCLOSE];
    if (calls == 0)
        return NULL;
    char a[TG_QUANTITY_SIZE], b[TG_QUANTITY_SIZE], c[TG_QUANTITY_SIZE];
    tg_report_title(page, "dlopen calls");
    fprintf(page->stream, "%s dlopen, %s dlmopen, %s dlclose",
            tg_quantity_count(totals.calls[TG_CALL_DLOPEN], a),
            tg_quantity_count(totals.calls[TG_CALL_DLMOPEN], b),
            tg_quantity_count(totals.calls[TG_CALL_DLCLOSE], c));
    if (totals.returned < calls)
        fprintf(page->stream, "; %s without a recorded return",
                tg_quantity_count(calls - totals.returned, a));
    if (totals.not_loaded > 0)
        fprintf(page->stream, "; %s with RTLD_NOLOAD found nothing", tg_quantity_count(totals.not_loaded, a));
    fprintf(page->stream, "; %s failed\n", totals.failed == 0 ? "none" : tg_quantity_count(totals.failed, a));
    return totals.failed > 0 ? write_failures(page, totals.failed) : NULL;
}

struct tg_error *tg_report_load_calls_json(const struct tg_report *report, struct tg_json *json)
{
    struct tg_load_call_totals totals = tg_load_calls_totals(report->load_calls);
    tg_json_key(json, "load_calls");
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "dlopen", totals.calls[TG_CALL_DLOPEN]);
    tg_json_member_unsigned(json, "dlmopen", totals.calls[TG_CALL_DLMOPEN]);
    tg_json_member_unsigned(json, "dlclose", totals.calls[TG_CALL_DLCLOSE]);
    tg_json_member_unsigned(json, "returned", totals.returned);
    tg_json_member_unsigned(json, "not_loaded", totals.not_loaded);
    tg_json_member_unsigned(json, "failed", totals.failed);
    size_t count;
    struct failure_row *rows = collect_failures(report, &count);
    if (rows == NULL)
        return tg_error_no_memory();
    const struct tg_report_rows array = {failure_fields, rows, count, sizeof *rows};
    tg_report_array(json, report, "failures", &array);
    tg_json_end_object(json);
    free(rows);
    return NULL;
}
