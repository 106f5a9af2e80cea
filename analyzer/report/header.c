/* The facts about a job and its trace, at the head of a report. */
#include "analyzer/output/quantity.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>
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
                fputs(attached ? "(attached)" : "unknown", page->stream);
            break;
        }
        if (i > 0)
            fputc(' ', page->stream);
        tg_report_argument(page->stream, argument);
    }
    fputc('\n', page->stream);
    const char *directory = tg_trace_meta_get(page->report->meta, "command.cwd");
    if (directory != NULL && !page->options->summary) {
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
        fputs("; this report covers the events before\n", page->stream);
    } else if (report->summary.is_recording) {
        char moment[TG_QUANTITY_SIZE];
        fprintf(page->stream, "STILL RECORDING: events up to %s s\n",
                tg_quantity_moment(report->end_ns, report->start_ns, 6, moment));
    } else if (report->summary.truncated) {
        fprintf(page->stream,
                "INTERRUPTED: not readable from byte %" PRIu64 " on; this report covers the events before\n",
                report->summary.damaged_offset);
    } else if (!report->summary.complete) {
        fputs("INTERRUPTED: the recording did not end cleanly; events after its last complete chunk are "
              "missing\n",
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
        fprintf(page->stream, " (%s rank%s)", tg_quantity_count(ranks, text), tg_report_plural(ranks));
    if (tg_selection_limits_processes(page->report->selection))
        fputs(", as selected", page->stream);
    fputc('\n', page->stream);
}

void tg_report_header(const struct tg_report_page *page)
{
    write_command(page);
    if (!page->options->summary)
        write_host(page);
    write_time(page);
    if (!page->options->summary)
        write_capture(page);
    write_overview(page);
    write_state(page);
}
