/* The text report: its header, the order of its sections, and the small ones. */
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void begin_fact(const struct tg_report_page *page, const char *name)
{
    fprintf(page->stream, "%-10s ", name);
}

static const char *meta_text(const struct tg_report *report, const char *key, const char *otherwise)
{
    const char *value = tg_trace_meta_get(report->meta, key);
    return value == NULL || *value == '\0' ? otherwise : value;
}

/* An argument, in quotes where it would be ambiguous. */
static void write_argument(FILE *stream, const char *argument)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./=:,@%+";
    if (*argument != '\0' && argument[strspn(argument, plain)] == '\0') {
        fputs(argument, stream);
        return;
    }
    tg_printable_write_quoted(stream, argument);
}

static void write_command(const struct tg_report_page *page)
{
    begin_fact(page, "Command");
    for (unsigned i = 0;; i++) {
        char key[32];
        snprintf(key, sizeof key, "command.%u", i);
        const char *argument = tg_trace_meta_get(page->report->meta, key);
        if (argument == NULL) {
            const char *target = tg_trace_meta_get(page->report->meta, "capture.target");
            bool attached = target != NULL && strcmp(target, "attach") == 0;
            if (i == 0)
                fputs(attached ? "none: what ran was attached" : "unknown", page->stream);
            break;
        }
        if (i > 0)
            fputc(' ', page->stream);
        write_argument(page->stream, argument);
    }
    fputc('\n', page->stream);
    const char *directory = tg_trace_meta_get(page->report->meta, "command.cwd");
    if (directory != NULL) {
        begin_fact(page, "Directory");
        tg_printable_write(page->stream, directory);
        fputc('\n', page->stream);
    }
}

static void write_host(const struct tg_report_page *page)
{
    begin_fact(page, "Host");
    tg_printable_write(page->stream, meta_text(page->report, "host.name", "unknown"));
    static const struct {
        const char *key, *before, *after;
    } facts[] = {{"host.kernel", ", Linux ", ""}, {"host.arch", ", ", ""}, {"host.cpus", ", ", " CPUs"}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *value = tg_trace_meta_get(page->report->meta, facts[i].key);
        if (value == NULL)
            continue;
        fputs(facts[i].before, page->stream);
        tg_printable_write(page->stream, value);
        fputs(facts[i].after, page->stream);
    }
    fputc('\n', page->stream);
}

static void write_time(const struct tg_report_page *page)
{
    const struct tg_report *report = page->report;
    uint64_t realtime_ns = tg_trace_meta_get_number(report->meta, "start.realtime_ns", 0);
    begin_fact(page, "Started");
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm moment;
    char text[64] = "unknown";
    if (realtime_ns != 0 && gmtime_r(&seconds, &moment) != NULL) {
        char fraction[16];
        snprintf(fraction, sizeof fraction, "%06" PRIu64, realtime_ns % 1000000000 / 1000);
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &moment);
        fprintf(page->stream, "%s.%s UTC\n", text, fraction);
    } else {
        fprintf(page->stream, "%s\n", text);
    }
    begin_fact(page, "Duration");
    fprintf(page->stream, "%s s%s\n", tg_quantity_moment(report->end_ns, report->start_ns, 6, text),
            report->selection->has_to ? " (--to)" : "");
}

static void write_capture(const struct tg_report_page *page)
{
    static const struct {
        const char *key, *name;
    } facts[] = {{"tool.version", "tollgate "},
                 {"capture.target", ""},
                 {"capture.dlopen", "--dlopen="},
                 {"capture.mode", "mode "},
                 {"capture.match", "match "}};
    bool any = false;
    begin_fact(page, "Recorded");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *value = tg_trace_meta_get(page->report->meta, facts[i].key);
        if (value == NULL || *value == '\0')
            continue;
        fprintf(page->stream, "%s%s", any ? ", " : "", facts[i].name);
        tg_printable_write(page->stream, value);
        any = true;
    }
    fputs(any ? "\n" : "unknown\n", page->stream);
}

static void write_state(const struct tg_report_page *page)
{
    const struct tg_report *report = page->report;
    char count[TG_QUANTITY_SIZE];
    begin_fact(page, "Trace");
    tg_printable_write(page->stream, report->path);
    fprintf(page->stream, ", %s event%s, ", tg_quantity_count(report->summary.events, count),
            report->summary.events == 1 ? "" : "s");
    if (report->damage != NULL) {
        fputs("DAMAGED: ", page->stream);
        tg_printable_write(page->stream, tg_error_message(report->damage));
        fputs("; this report goes as far as it reads\n", page->stream);
    } else if (report->summary.truncated) {
        fprintf(page->stream,
                "INTERRUPTED: not used from byte %" PRIu64 " on; this report goes as far as it reads\n",
                report->summary.damaged_offset);
    } else if (!report->summary.complete) {
        fputs("INTERRUPTED: it was never closed, what came after its last whole chunk is not in it\n",
              page->stream);
    } else {
        fputs("complete\n", page->stream);
    }
}

static void write_overview(const struct tg_report_page *page)
{
    uint64_t ranks = 0, processes = 0;
    for (size_t i = 0; i < tg_process_model_count(page->report->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(page->report->processes, i);
        if (!tg_selection_admits_process(page->report->selection, entry))
            continue;
        processes++;
        ranks += entry->rank >= 0;
    }
    char text[TG_QUANTITY_SIZE];
    begin_fact(page, "Processes");
    fprintf(page->stream, "%s", tg_quantity_count(processes, text));
    if (ranks > 0)
        fprintf(page->stream, ", of which %s rank%s", tg_quantity_count(ranks, text), ranks == 1 ? "" : "s");
    if (tg_selection_limits_processes(page->report->selection))
        fputs(" (as selected)", page->stream);
    fputc('\n', page->stream);
}

static struct tg_error *write_kinds(const struct tg_report_page *page)
{
    static const char *const headings[] = {"KIND", ">EVENTS", ">STOPS", ">STOPPED", ">LONGEST", NULL};
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    uint64_t stops = 0, stop_ns = 0;
    char events[TG_QUANTITY_SIZE], stop_count[TG_QUANTITY_SIZE], stopped[TG_QUANTITY_SIZE],
        longest[TG_QUANTITY_SIZE];
    for (size_t i = 0; error == NULL && i < page->report->session->n_kinds; i++) {
        const struct tg_kind_total *total = &page->report->session->kinds[i];
        if (total->events == 0)
            continue;
        stops += total->stops;
        stop_ns += total->stop_ns;
        const char *cells[] = {tg_event_kind_name(total->kind), tg_quantity_count(total->events, events),
                               tg_quantity_count(total->stops, stop_count),
                               tg_quantity_duration(total->stop_ns, stopped),
                               tg_quantity_duration(total->longest_ns, longest)};
        error = tg_text_table_add(table, cells);
    }
    tg_report_title(page, "Events and stops");
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    if (error == NULL)
        fprintf(page->stream, "In all %s stop%s, %s\n", tg_quantity_count(stops, stop_count),
                stops == 1 ? "" : "s", tg_quantity_duration(stop_ns, stopped));
    tg_text_table_destroy(table);
    return error;
}

static struct tg_error *write_breakpoints(const struct tg_report_page *page)
{
    static const char *const headings[] = {
        ">ID", "SPEC", ">PLANTED", ">IN TIME", ">LATE", ">LONGEST WINDOW", ">HITS", NULL};
    const struct tg_totals *session = page->report->session;
    if (session->n_breakpoints == 0)
        return NULL;
    struct tg_text_table *table = NULL;
    struct tg_error *error = tg_text_table_create(headings, page->options->colour, &table);
    for (size_t i = 0; error == NULL && i < session->n_breakpoints; i++) {
        const struct tg_breakpoint_total *total = &session->breakpoints[i];
        char spec[256], id[32], planted[TG_QUANTITY_SIZE], in_time[TG_QUANTITY_SIZE], late[TG_QUANTITY_SIZE],
            window[TG_QUANTITY_SIZE], hits[TG_QUANTITY_SIZE];
        snprintf(id, sizeof id, "%" PRIu64, total->breakpoint);
        const char *cells[] = {id,
                               tg_printable(total->text, spec, sizeof spec),
                               total->planted == 0 ? "never" : tg_quantity_count(total->planted, planted),
                               tg_quantity_count(total->planted - total->late, in_time),
                               tg_quantity_count(total->late, late),
                               total->late == 0 ? "-"
                                                : tg_quantity_duration(total->longest_window_ns, window),
                               tg_quantity_count(total->hits, hits)};
        error = tg_text_table_add(table, cells);
    }
    tg_report_title(page, "Breakpoints");
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    tg_text_table_destroy(table);
    return error;
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
            write_argument(page->stream, period->match);
        }
        fputc('\n', page->stream);
    }
    fprintf(page->stream, "%s reported, ", tg_quantity_count(filter->decisions[TG_DECISION_REPORTED], text));
    fprintf(page->stream, "%s deferred, ", tg_quantity_count(filter->decisions[TG_DECISION_DEFERRED], text));
    fprintf(page->stream, "%s not stopped for\n",
            tg_quantity_count(filter->decisions[TG_DECISION_NOT_STOPPED], text));
    if (filter->batches > 0) {
        fprintf(page->stream, "%s", tg_quantity_count(filter->batch_libraries, text));
        fprintf(page->stream, " libraries handled later in %s batch%s, ",
                tg_quantity_count(filter->batches, text), filter->batches == 1 ? "" : "es");
        fprintf(page->stream, "at most %s at once\n", tg_quantity_count(filter->largest_batch, text));
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
        fputs("the trace is not whole: what came after its last readable event is lost\n", page->stream);
    if (page->report->summary.unknown_events > 0)
        fprintf(page->stream, "%s events of kinds that this version of tollgate does not know\n",
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
        fprintf(page->stream,
                "%s events name more different things than a report holds; they are not in it\n",
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
    const struct tg_report_page page = {
        .report = report, .options = options, .stream = stream, .many_jobs = has_many_jobs(report)};
    write_command(&page);
    write_host(&page);
    write_time(&page);
    write_capture(&page);
    write_overview(&page);
    write_state(&page);
    struct tg_error *error = tg_report_verdict(&page);
    if (error == NULL)
        error = tg_report_bad_ends(&page);
    if (error == NULL)
        error = tg_report_tree(&page);
    if (error == NULL)
        error = tg_report_mpir(&page);
    if (error == NULL)
        error = tg_report_control(&page);
    if (error == NULL)
        error = tg_report_mpi(&page);
    if (error == NULL)
        error = tg_report_openmp(&page);
    if (error == NULL)
        error = tg_report_libraries(&page);
    if (error == NULL)
        error = tg_report_load_calls(&page);
    if (error == NULL)
        error = write_kinds(&page);
    if (error == NULL)
        error = write_breakpoints(&page);
    if (error != NULL)
        return error;
    write_filter(&page);
    write_losses(&page);
    write_notes(&page);
    return NULL;
}
