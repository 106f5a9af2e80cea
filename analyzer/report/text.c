/* The text report: the order of its sections, and the small ones. */
#include "analyzer/output/quantity.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KIND(heading, key, form, member) TG_FIELD(struct tg_kind_total, heading, key, form, member)

static const struct tg_report_field kind_fields[] = {
    KIND("KIND", "kind", KIND, kind),
    KIND(">EVENTS", "events", COUNT, events),
    KIND(">STOPS", "stops", COUNT, stops),
    KIND(">STOPPED", "stop_ns", DURATION, stop_ns),
    KIND(">LONGEST", "longest_ns", DURATION, longest_ns),
    {0},
};

/* Pointers to the kinds that occurred, the caller's to free; NULL without memory. */
static const struct tg_kind_total **find_kinds(const struct tg_totals *session, size_t *count)
{
    const struct tg_kind_total **kinds = calloc(session->n_kinds + 1, sizeof(const struct tg_kind_total *));
    *count = 0;
    for (size_t i = 0; kinds != NULL && i < session->n_kinds; i++)
        if (session->kinds[i].events > 0)
            kinds[(*count)++] = &session->kinds[i];
    return kinds;
}

static struct tg_error *write_kinds(const struct tg_report_page *page)
{
    size_t count;
    const struct tg_kind_total **kinds = find_kinds(page->report->session, &count);
    if (kinds == NULL)
        return tg_error_no_memory();
    char stop_count[TG_QUANTITY_SIZE], stopped[TG_QUANTITY_SIZE];
    uint64_t stops = 0, stop_ns = 0;
    for (size_t i = 0; i < count; i++) {
        stops += kinds[i]->stops;
        stop_ns += kinds[i]->stop_ns;
    }
    const struct tg_report_rows table = {kind_fields, kinds, count, 0};
    tg_report_title(page, "Events and stops");
    struct tg_error *error = tg_report_table(page, &table, count);
    if (error == NULL)
        fprintf(page->stream, "Total: %s stop%s, %s\n", tg_quantity_count(stops, stop_count),
                tg_report_plural(stops), tg_quantity_duration(stop_ns, stopped));
    free(kinds);
    return error;
}

struct tg_error *tg_report_kinds_json(const struct tg_report *report, struct tg_json *json)
{
    size_t count;
    const struct tg_kind_total **kinds = find_kinds(report->session, &count);
    if (kinds == NULL)
        return tg_error_no_memory();
    const struct tg_report_rows array = {kind_fields, kinds, count, 0};
    tg_report_array(json, report, "kinds", &array);
    free(kinds);
    return NULL;
}

struct breakpoint_row {
    struct tg_breakpoint_total total;
    uint64_t in_time;
};

#define BREAKPOINT(heading, key, form, member, zero)                                                         \
    TG_FIELD_ELSE(struct breakpoint_row, heading, key, form, member, zero)

static const struct tg_report_field breakpoint_fields[] = {
    BREAKPOINT(">ID", "breakpoint", NUMBER, total.breakpoint, NULL),
    BREAKPOINT("SPEC", "spec", TEXT, total.text, NULL),
    BREAKPOINT(">PLANTED", "planted", COUNT, total.planted, "never"),
    BREAKPOINT(">IN TIME", NULL, COUNT, in_time, NULL),
    BREAKPOINT(">LATE", "late", COUNT, total.late, NULL),
    BREAKPOINT(">LONGEST WINDOW", "longest_window_ns", DURATION, total.longest_window_ns, "-"),
    BREAKPOINT(NULL, "removed", COUNT, total.removed, NULL),
    BREAKPOINT(">HITS", "hits", COUNT, total.hits, NULL),
    {0},
};

/* The caller's to free; NULL without memory. */
static struct breakpoint_row *collect_breakpoints(const struct tg_totals *session)
{
    struct breakpoint_row *rows = calloc(session->n_breakpoints + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < session->n_breakpoints; i++)
        rows[i] = (struct breakpoint_row){session->breakpoints[i],
                                          session->breakpoints[i].planted - session->breakpoints[i].late};
    return rows;
}

static struct tg_error *write_breakpoints(const struct tg_report_page *page)
{
    size_t count = page->report->session->n_breakpoints;
    if (count == 0)
        return NULL;
    struct breakpoint_row *rows = collect_breakpoints(page->report->session);
    if (rows == NULL)
        return tg_error_no_memory();
    const struct tg_report_rows table = {breakpoint_fields, rows, count, sizeof *rows};
    tg_report_title(page, "Breakpoints");
    struct tg_error *error = tg_report_table(page, &table, count);
    free(rows);
    return error;
}

struct tg_error *tg_report_breakpoints_json(const struct tg_report *report, struct tg_json *json)
{
    struct breakpoint_row *rows = collect_breakpoints(report->session);
    if (rows == NULL)
        return tg_error_no_memory();
    const struct tg_report_rows array = {breakpoint_fields, rows, report->session->n_breakpoints,
                                         sizeof *rows};
    tg_report_array(json, report, "breakpoints", &array);
    free(rows);
    return NULL;
}

static void write_filter(const struct tg_report_page *page)
{
    const struct tg_totals *session = page->report->session;
    const struct tg_filter_totals *filter = &session->filter;
    uint64_t decisions = filter->decisions[0] + filter->decisions[1] + filter->decisions[2];
    if (session->n_settings == 0 && decisions == 0)
        return;
    tg_report_title(page, "dlopen filter");
    char text[TG_QUANTITY_SIZE];
    const struct tg_field *mode_field = &tg_event_schema(TG_EVENT_FILTER_SETTINGS)->fields[0];
    for (size_t i = 0; i < session->n_settings; i++) {
        const struct tg_settings_period *period = &session->settings[i];
        const char *mode = tg_field_value_name(mode_field, period->mode);
        fprintf(page->stream, "from %s s: %s",
                tg_quantity_moment(period->time_ns, page->report->start_ns, 6, text),
                mode == NULL ? "unknown mode" : mode);
        if (*period->match != '\0') {
            fputs(", match ", page->stream);
            tg_report_argument(page->stream, period->match);
        }
        fputc('\n', page->stream);
    }
    fprintf(page->stream, "%s loads reported, ",
            tg_quantity_count(filter->decisions[TG_DECISION_REPORTED], text));
    fprintf(page->stream, "%s deferred, ", tg_quantity_count(filter->decisions[TG_DECISION_DEFERRED], text));
    fprintf(page->stream, "%s without a stop\n",
            tg_quantity_count(filter->decisions[TG_DECISION_NOT_STOPPED], text));
    uint64_t inside = tg_library_model_totals(page->report->libraries).in_process_events;
    if (inside > 0)
        fprintf(page->stream, "%s of these loads were decided about in the process, without a stop\n",
                tg_quantity_count(inside, text));
    if (filter->batches > 0) {
        fprintf(page->stream, "%s", tg_quantity_count(filter->batch_libraries, text));
        fprintf(page->stream, " deferred libraries handled later in %s batch%s, ",
                tg_quantity_count(filter->batches, text), filter->batches == 1 ? "" : "es");
        fprintf(page->stream, "at most %s at a time\n", tg_quantity_count(filter->largest_batch, text));
    }
}

static void write_losses(const struct tg_report_page *page)
{
    const struct tg_totals *session = page->report->session;
    const struct tg_field *source_field = &tg_event_schema(TG_EVENT_LOSS)->fields[0];
    char text[TG_QUANTITY_SIZE];
    tg_report_title(page, "Losses");
    if (tg_report_nothing_lost(page->report))
        fputs("nothing lost\n", page->stream);
    if (page->report->damage != NULL || !page->report->summary.complete || page->report->summary.truncated)
        fputs(page->report->summary.is_recording && page->report->damage == NULL
                  ? "still recording: later events are not in this report\n"
                  : "the trace is incomplete: events after the last readable one are lost\n",
              page->stream);
    if (page->report->summary.unknown_events > 0)
        fprintf(page->stream, "%s events of kinds unknown to this version of tollgate\n",
                tg_quantity_count(page->report->summary.unknown_events, text));
    for (size_t i = 0; i < session->n_losses; i++) {
        const struct tg_loss_total *total = &session->losses[i];
        const char *source = tg_field_value_name(source_field, total->source);
        fprintf(page->stream, "%s: ", source == NULL ? "unknown source" : source);
        if (total->count == 0)
            fputs("an unknown number of events", page->stream);
        else
            fprintf(page->stream, "%s%s event%s", total->unknown > 0 ? "more than " : "",
                    tg_quantity_count(total->count, text), total->count == 1 ? "" : "s");
        fprintf(page->stream,
                ", first at %s s: ", tg_quantity_moment(total->first_ns, page->report->start_ns, 6, text));
        tg_printable_write(page->stream, total->reason);
        fputc('\n', page->stream);
    }
    if (session->beyond_limit > 0)
        fprintf(
            page->stream,
            "%s events left out: too many different breakpoints, settings, losses or notes for a report\n",
            tg_quantity_count(session->beyond_limit, text));
}

static void write_notes(const struct tg_report_page *page)
{
    const struct tg_totals *session = page->report->session;
    char text[TG_QUANTITY_SIZE];
    if (session->n_notes > 0)
        tg_report_title(page, "Notes");
    for (size_t i = 0; i < session->n_notes; i++) {
        const struct tg_note_total *total = &session->notes[i];
        fprintf(page->stream, "%s s: ", tg_quantity_moment(total->first_ns, page->report->start_ns, 6, text));
        if (total->first_pid != 0)
            fprintf(page->stream, "pid %" PRId32 ": ", total->first_pid);
        tg_printable_write(page->stream, total->text);
        if (total->count > 1)
            fprintf(page->stream, " (%s times)", tg_quantity_count(total->count, text));
        fputc('\n', page->stream);
    }
}

static bool has_many_jobs(const struct tg_report *report)
{
    const char *job = NULL;
    for (size_t i = 0; i < tg_process_model_count(report->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, i);
        if (entry->rank < 0)
            continue;
        if (job != NULL && entry->job != job)
            return true;
        job = entry->job;
    }
    return false;
}

struct tg_error *tg_report_write_text(const struct tg_report *report,
                                      const struct tg_report_text_options *options, FILE *stream)
{
    static struct tg_error *(*const sections[])(const struct tg_report_page *page) = {
        tg_report_bad_ends,  tg_report_stacks,     tg_report_tree,     tg_report_mpir,    tg_report_control,
        tg_report_mpi,       tg_report_mpi_places, tg_report_mpi_late, tg_report_openmp,  tg_report_heap,
        tg_report_libraries, tg_report_load_calls, write_kinds,        write_breakpoints,
    };
    const struct tg_report_page page = {
        .report = report, .options = options, .stream = stream, .many_jobs = has_many_jobs(report)};
    if (options->summary)
        return tg_report_summary(&page);
    struct tg_error *error = tg_report_verdict(&page, SIZE_MAX);
    tg_report_title(&page, "Job");
    tg_report_header(&page);
    for (size_t i = 0; error == NULL && i < sizeof sections / sizeof sections[0]; i++)
        error = sections[i](&page);
    if (error != NULL)
        return error;
    write_filter(&page);
    write_losses(&page);
    write_notes(&page);
    return NULL;
}
