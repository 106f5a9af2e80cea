/* The report on one screen: the verdict, a line for each thing that there is to know, and the processes
 * that fit. */
#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/sections.h"
#include "analyzer/report/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FACT_WIDTH = 10 };

static void begin_fact(const struct tg_report_page *page, const char *name)
{
    fprintf(page->stream, "%-*s ", FACT_WIDTH, name);
}

static struct tg_error *write_mpi(const struct tg_report_page *page)
{
    const struct tg_mpi_model *mpi = page->report->mpi;
    size_t threads = tg_mpi_model_thread_count(mpi), inside = 0;
    uint64_t calls = 0, call_ns = 0;
    char count[TG_QUANTITY_SIZE], more[TG_QUANTITY_SIZE], duration[TG_QUANTITY_SIZE];
    if (threads == 0)
        return NULL;
    for (size_t i = 0; i < threads; i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        calls += thread->calls + thread->repeated_polls;
        call_ns += thread->call_ns;
        inside += thread->in_call;
    }
    begin_fact(page, "MPI");
    fprintf(page->stream, "%s thread%s, %s calls, %s in calls", tg_quantity_count(threads, count),
            tg_report_plural(threads), tg_quantity_count(calls, more),
            tg_quantity_duration(call_ns, duration));
    if (inside > 0)
        fprintf(page->stream, "; %s still in a call", tg_quantity_count(inside, count));
    fputc('\n', page->stream);
    return tg_report_mpi_costliest(page, FACT_WIDTH + 1);
}

static void write_openmp(const struct tg_report_page *page)
{
    const struct tg_openmp_model *model = tg_openmp_statistics_model(page->report->openmp);
    size_t workers = tg_openmp_model_worker_count(model), inside = 0;
    uint64_t region_ns = 0, barrier_ns = 0, lock_ns = 0;
    char count[TG_QUANTITY_SIZE], regions[TG_QUANTITY_SIZE], barriers[TG_QUANTITY_SIZE],
        locks[TG_QUANTITY_SIZE];
    if (workers == 0)
        return;
    for (size_t i = 0; i < workers; i++) {
        struct tg_openmp_worker_use use = tg_openmp_statistics_worker(page->report->openmp, i);
        region_ns += use.region_ns;
        barrier_ns += use.barrier_ns;
        lock_ns += use.lock_ns;
        inside += tg_openmp_model_worker_at(model, i)->n_places > 0;
    }
    begin_fact(page, "OpenMP");
    fprintf(page->stream, "%s worker%s", tg_quantity_count(workers, count), tg_report_plural(workers));
    if (inside > 0) /* the times do not have theirs yet */
        fprintf(page->stream, " (%s inside)", tg_quantity_count(inside, count));
    fprintf(page->stream, "; in regions %s, at barriers %s, for locks %s", /* as in the table of workers */
            tg_quantity_duration(region_ns, regions), tg_quantity_duration(barrier_ns, barriers),
            tg_quantity_duration(lock_ns, locks));
    fputc('\n', page->stream);
}

static void write_libraries(const struct tg_report_page *page)
{
    struct tg_library_totals totals = tg_library_model_totals(page->report->libraries);
    char count[TG_QUANTITY_SIZE], loads[TG_QUANTITY_SIZE], stopped[TG_QUANTITY_SIZE];
    size_t libraries = tg_library_model_count(page->report->libraries);
    if (libraries == 0)
        return;
    begin_fact(page, "Libraries");
    fprintf(page->stream, "%s, in %s load event%s, stopped for %s\n", tg_quantity_count(libraries, count),
            tg_quantity_count(totals.load_events, loads), tg_report_plural(totals.load_events),
            tg_quantity_duration(totals.load_stop_ns + totals.unload_stop_ns + totals.null_stop_ns, stopped));
}

static void write_stops(const struct tg_report_page *page)
{
    const struct tg_totals *session = page->report->session;
    uint64_t stops = 0, stop_ns = 0, late = 0, never = 0;
    char count[TG_QUANTITY_SIZE], stopped[TG_QUANTITY_SIZE];
    for (size_t i = 0; i < session->n_kinds; i++) {
        stops += session->kinds[i].stops;
        stop_ns += session->kinds[i].stop_ns;
    }
    begin_fact(page, "Stops");
    fprintf(page->stream, "%s, %s in all\n", tg_quantity_count(stops, count),
            tg_quantity_duration(stop_ns, stopped));
    if (session->n_breakpoints == 0)
        return;
    for (size_t i = 0; i < session->n_breakpoints; i++) {
        late += session->breakpoints[i].late > 0;
        never += session->breakpoints[i].planted == 0;
    }
    begin_fact(page, "Breakpoints");
    fprintf(page->stream, "%zu", session->n_breakpoints);
    if (never > 0)
        fprintf(page->stream, ", %" PRIu64 " never planted", never);
    if (late > 0)
        fprintf(page->stream, ", %" PRIu64 " planted late", late);
    fputc('\n', page->stream);
}

static void write_barriers(const struct tg_report_page *page)
{
    const struct tg_session_review *model = page->report->control;
    size_t barriers = tg_session_review_count(model), stuck = 0;
    if (barriers == 0)
        return;
    for (size_t i = 0; i < barriers; i++)
        stuck += tg_session_review_at(model, i)->stuck;
    begin_fact(page, "Barriers");
    fprintf(page->stream, "%zu debugger barrier%s", barriers, tg_report_plural(barriers));
    if (stuck > 0)
        fprintf(page->stream, ", %zu stuck", stuck);
    fputc('\n', page->stream);
}

static void write_losses(const struct tg_report_page *page)
{
    const struct tg_totals *session = page->report->session;
    begin_fact(page, "Losses");
    if (tg_report_nothing_lost(page->report))
        fputs("nothing lost", page->stream);
    else if (session->n_losses > 0)
        fprintf(page->stream, "events were lost for %zu reason%s", session->n_losses,
                tg_report_plural(session->n_losses));
    else
        fputs(page->report->summary.is_recording ? "none so far" : "the trace is incomplete", page->stream);
    if (session->n_notes > 0)
        fprintf(page->stream, "; %zu note%s", session->n_notes, tg_report_plural(session->n_notes));
    fputc('\n', page->stream);
}

/* Prints TEXT, lines longer than the width cut with "...", and returns how many lines it has. */
static size_t print_cut(const struct tg_report_page *page, const char *text)
{
    size_t columns = page->options->columns, lines = 0;
    for (; *text != '\0'; lines++) {
        size_t size = strcspn(text, "\n"), escapes = 0, width = 0, at = 0;
        for (; at < size && (columns == 0 || width < columns); at++) {
            if (text[at] == '\033')
                while (at < size && text[at] != 'm')
                    at++, escapes++;
            else
                width += (text[at] & 0xc0) != 0x80;
        }
        bool is_cut = at < size && escapes == 0;
        while (is_cut && at > 0 && (width > columns - 3 || (text[at] & 0xc0) == 0x80))
            width -= (text[--at] & 0xc0) != 0x80;
        fwrite(text, 1, is_cut ? at : size, page->stream);
        fputs(is_cut ? "...\n" : "\n", page->stream);
        text += size + (text[size] == '\n');
    }
    return lines;
}

static struct tg_error *write_facts(const struct tg_report_page *page)
{
    tg_report_header(page);
    struct tg_error *error = write_mpi(page);
    write_openmp(page);
    write_libraries(page);
    write_stops(page);
    write_barriers(page);
    write_losses(page);
    return error;
}

typedef struct tg_error *part_fn(const struct tg_report_page *page, size_t lines);

static struct tg_error *verdict_part(const struct tg_report_page *page, size_t lines)
{
    enum {
        FACTS = 15,
        AROUND = 4,
        LEAST = 4
    }; /* lines: of the facts; the title and what to do next; for findings */
    return tg_report_verdict(page, lines > FACTS + AROUND + LEAST ? lines - FACTS - AROUND : LEAST);
}

static struct tg_error *facts_part(const struct tg_report_page *page, size_t lines)
{
    (void)lines;
    tg_report_title(page, "Job");
    return write_facts(page);
}

/* Writes PART, lines cut to the width, and takes their number off *LINES. */
static struct tg_error *write_part(const struct tg_report_page *page, part_fn *part, size_t *lines)
{
    char *text;
    size_t size;
    struct tg_report_page draft = *page;
    draft.stream = open_memstream(&text, &size);
    if (draft.stream == NULL)
        return tg_error_no_memory();
    struct tg_error *error = part(&draft, *lines);
    if (fclose(draft.stream) != 0 && error == NULL)
        error = tg_error_no_memory();
    size_t written = error == NULL ? print_cut(page, text) : 0;
    *lines -= written < *lines ? written : *lines;
    free(text);
    return error;
}

struct tg_error *tg_report_summary(const struct tg_report_page *page)
{
    enum { BELOW = 2 }; /* lines: the last one, and the prompt */
    size_t lines = page->options->lines > BELOW ? page->options->lines - BELOW : 0;
    struct tg_error *error = write_part(page, verdict_part, &lines);
    if (error == NULL)
        error = write_part(page, facts_part, &lines);
    if (error == NULL)
        error = write_part(page, tg_report_tree_brief, &lines);
    if (error == NULL)
        tg_report_paragraph(page, NULL, "--all shows all processes, MPI, OpenMP, libraries, events");
    return error;
}
