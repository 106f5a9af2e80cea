/* The text report's calls of dlopen and its relatives: how many there were, and the ones that failed. */
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>

enum { FAILURES_SHOWN = 10 };

/* "libx.so" of a path, or the address where it is not known what holds it. */
static void describe_caller(const struct tg_load_failure *failure, char *text, size_t size)
{
    if (failure->object[0] == '\0')
        snprintf(text, size, "0x%" PRIx64, failure->caller);
    else
        tg_printable(failure->object, text, size);
}

static struct tg_error *add_failure(const struct tg_report_page *page, const struct tg_load_failure *failure,
                                    struct tg_text_table *table)
{
    char moment[TG_QUANTITY_SIZE], times[TG_QUANTITY_SIZE], path[1024], caller[1024], error[2048];
    describe_caller(failure, caller, sizeof caller);
    const char *cells[] = {tg_quantity_moment(failure->first_ns, page->report->start_ns, 6, moment),
                           tg_quantity_count(failure->times, times),
                           failure->path[0] != '\0' ? tg_printable(failure->path, path, sizeof path) : "-",
                           caller, tg_printable(failure->error, error, sizeof error)};
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_failures(const struct tg_report_page *page, uint64_t failed)
{
    static const char *const headings[] = {">FIRST", ">TIMES", "LIBRARY", "CALLER", "ERROR", NULL};
    const struct tg_load_calls *model = page->report->load_calls;
    size_t count = tg_load_calls_count(model);
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    uint64_t shown = 0;
    for (size_t i = 0; error == NULL && i < count && (page->options->all || i < FAILURES_SHOWN); i++) {
        const struct tg_load_failure *failure = tg_load_calls_at(model, i);
        error = add_failure(page, failure, table);
        shown += failure->times;
    }
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    tg_text_table_destroy(table);
    char rest[TG_QUANTITY_SIZE];
    if (error == NULL && shown < failed)
        fprintf(page->stream, "and %s more; --all shows them, as far as they were kept\n",
                tg_quantity_count(failed - shown, rest));
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
    tg_report_title(page, "Calls of the loader");
    fprintf(page->stream, "%s of dlopen, %s of dlmopen, %s of dlclose",
            tg_quantity_count(totals.calls[TG_CALL_DLOPEN], a),
            tg_quantity_count(totals.calls[TG_CALL_DLMOPEN], b),
            tg_quantity_count(totals.calls[TG_CALL_DLCLOSE], c));
    if (totals.returned < calls)
        fprintf(page->stream, "; %s did not return, or were not seen to",
                tg_quantity_count(calls - totals.returned, a));
    if (totals.not_loaded > 0)
        fprintf(page->stream, "; %s found nothing and loaded nothing (RTLD_NOLOAD)",
                tg_quantity_count(totals.not_loaded, a));
    fprintf(page->stream, "; %s failed\n", totals.failed == 0 ? "none" : tg_quantity_count(totals.failed, a));
    return totals.failed > 0 ? write_failures(page, totals.failed) : NULL;
}
