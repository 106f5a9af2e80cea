/* The first section of a report: the findings, what limits them, and what to do next. */
#include "analyzer/output/quantity.h"
#include "analyzer/report/sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FINDINGS_SHOWN = 12 };

/* How many lines TEXT takes at COLUMNS (0: one), approximately. */
static size_t count_lines(const char *text, size_t columns)
{
    return columns == 0 ? 1 : 1 + strlen(text) / (columns > 8 ? columns - 4 : 4);
}

static void write_findings(const struct tg_report_page *page, size_t lines)
{
    const struct tg_verdict *verdict = &page->report->verdict;
    size_t most = page->options->all ? SIZE_MAX : FINDINGS_SHOWN, shown = 0;
    while (shown < verdict->count && shown < most) {
        const char *text = verdict->findings[shown].text;
        size_t needed = count_lines(text, page->options->columns);
        if (shown > 0 && needed > lines)
            break;
        char number[32];
        snprintf(number, sizeof number, "%zu. ", ++shown);
        tg_report_paragraph(page, number, text);
        lines -= needed < lines ? needed : lines;
    }
    tg_report_more(page, 0, verdict->count - shown);
}

/* Whether the job ended well: all that was found are warnings. */
static bool are_warnings(const struct tg_verdict *verdict)
{
    for (size_t i = 0; i < verdict->count; i++)
        if (!verdict->findings[i].is_warning)
            return false;
    return verdict->count > 0;
}

static void write_no_findings(const struct tg_report_page *page)
{
    const struct tg_report *report = page->report;
    const struct tg_end_tally tally = tg_report_end_tally(report);
    char text[200];
    if (tg_process_model_count(report->processes) == 0)
        snprintf(text, sizeof text, "The trace has no processes.");
    else
        tg_end_tally_print(&tally, text, sizeof text);
    tg_report_paragraph(page, NULL, text);
}

/* How many of RANKS were there, and left alone as others were asked for. */
static uint64_t count_let_go(const struct tg_mpir_rank *ranks, size_t count)
{
    uint64_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += ranks[i].is_told && ranks[i].state == TG_MPIR_NOT_SELECTED && ranks[i].process != SIZE_MAX;
    return n;
}

static uint64_t ranks_let_go(const struct tg_mpir_model *mpir)
{
    size_t count;
    const struct tg_mpir_rank *ranks = tg_mpir_model_outside(mpir, &count);
    uint64_t n = count_let_go(ranks, count);
    for (size_t i = 0; i < tg_mpir_model_count(mpir); i++) {
        ranks = tg_mpir_model_ranks(mpir, i, &count);
        n += count_let_go(ranks, count);
    }
    return n;
}

/* Appends, where MPI calls of ranks are not in the trace, that this is so: nothing is found then, which must not look as if all
 * was well. */
static void add_unwatched(const struct tg_report *report, char *text)
{
    const char *mpi = tg_trace_meta_get(report->meta, "capture.mpi");
    bool is_off = mpi != NULL && strcmp(mpi, "off") == 0;
    if (mpi == NULL && tg_mpi_model_thread_count(report->mpi) > 0)
        return; /* made by something else, which has no agents */
    uint64_t n_ranks = 0, n_unwatched = 0;
    for (size_t i = 0; i < tg_process_model_count(report->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, i);
        n_ranks += entry->rank >= 0;
        n_unwatched += entry->rank >= 0 && (is_off || !entry->is_watched);
    }
    if (n_unwatched == 0)
        return;
    char of_ranks[64] = "";
    if (n_unwatched < n_ranks)
        snprintf(of_ranks, sizeof of_ranks, " of %" PRIu64 " of %" PRIu64 " ranks", n_unwatched, n_ranks);
    const char *why = is_off                                      ? " (--mpi=off)"
                      : ranks_let_go(report->mpir) == n_unwatched ? ", as they were not asked for (--ranks)"
                                                                  : ", as no agent was there";
    size_t length = strlen(text);
    snprintf(
        text + length, TG_REPORT_RESERVATION - length,
        "%sMPI calls%s are not in the trace%s: mistakes in them, and who waited for whom, are not known.",
        length > 0 ? " " : "", of_ranks, why);
}

const char *tg_report_reservation(const struct tg_report *report, char *text)
{
    char moment[TG_QUANTITY_SIZE];
    tg_quantity_moment(report->end_ns, report->start_ns, 6, moment);
    *text = '\0';
    if (report->damage != NULL)
        snprintf(text, TG_REPORT_RESERVATION,
                 "The trace is damaged: this is the state at %s s, before the damage.", moment);
    else if (report->summary.is_recording)
        snprintf(text, TG_REPORT_RESERVATION, "Still recording: this is the state at %s s.", moment);
    else if (!report->summary.complete || report->summary.truncated)
        snprintf(text, TG_REPORT_RESERVATION, "The recording was interrupted: this is the state at %s s.",
                 moment);
    else if (!tg_report_nothing_lost(report))
        snprintf(text, TG_REPORT_RESERVATION,
                 "Events were lost (see Losses): the verdict may be incomplete.");
    add_unwatched(report, text);
    return text;
}

static void write_reservation(const struct tg_report_page *page)
{
    char text[TG_REPORT_RESERVATION];
    if (*tg_report_reservation(page->report, text) != '\0')
        tg_report_paragraph(page, NULL, text);
}

static void write_command(const struct tg_report_page *page, const char *before, const char *command,
                          const char *what)
{
    fprintf(page->stream, "%stollgate %s ", before, command);
    tg_report_argument(page->stream, page->report->path);
    fprintf(page->stream, "   %s\n", what);
}

/* The commands to type next. */
static void write_next(const struct tg_report_page *page)
{
    const struct tg_report *report = page->report;
    bool is_parallel = tg_mpi_model_thread_count(report->mpi) > 0 ||
                       tg_openmp_model_worker_count(tg_openmp_statistics_model(report->openmp)) > 0;
    bool is_wrong = (report->verdict.count > 0 && !are_warnings(&report->verdict)) ||
                    tg_report_end_tally(report).n_bad > 0;
    const char *before = "Next: ", *after = "      ";
    if (strcmp(report->path, "-") == 0)
        return;
    if (report->damage != NULL || (!report->summary.complete && !report->summary.is_recording)) {
        write_command(page, before, "recover", "(repair the trace)");
        before = after;
    }
    if (is_wrong && is_parallel) {
        write_command(page, before, "sequence", "(draw who waits for whom)");
        before = after;
    }
    if (is_wrong)
        write_command(page, before, "replay", "(inspect it: goto end, where)");
}

struct tg_error *tg_report_verdict(const struct tg_report_page *page, size_t lines)
{
    fputs(page->options->colour ? "\033[1mVerdict\033[0m\n" : "Verdict\n", page->stream);
    if (are_warnings(&page->report->verdict))
        tg_report_paragraph(page, NULL, "No crash, no deadlock, no abnormal exit. But:");
    if (page->report->verdict.count > 0)
        write_findings(page, lines);
    else
        write_no_findings(page);
    write_reservation(page);
    write_next(page);
    return ferror(page->stream) ? tg_error_no_memory() : NULL;
}
