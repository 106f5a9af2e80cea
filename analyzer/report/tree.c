/* Processes in a report: abnormal exits, and the tree. */
#include "analyzer/report/tree.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/output/text_table.h"
#include "analyzer/report/process_shape.h"
#include "analyzer/report/sections.h"
#include "format/base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOLD_LEAST = 8, /* so many siblings of one shape share a line */
    DEEPEST = 32,   /* levels of indentation */
    BAD_ENDS_SHOWN = 20,
};

/* A table row being written; every cell has its storage here. */
struct row {
    char name[320], rank[96], pid[48], start[2 * TG_QUANTITY_SIZE + 4], end[2 * TG_QUANTITY_SIZE + 4];
    char threads[64], stops[TG_QUANTITY_SIZE], stopped[TG_QUANTITY_SIZE], how[96], last_at[TG_QUANTITY_SIZE],
        last[320];
};

/* Totals of a line: one process, or all siblings of its shape. */
struct line_totals {
    size_t members;
    uint64_t earliest_start_ns, latest_start_ns, earliest_end_ns, latest_end_ns;
    uint64_t stops, stop_ns;
};

static void describe_bad_end(const struct tg_report_page *page, const struct tg_process_entry *entry)
{
    char name[128], end[64], last[256], moment[TG_QUANTITY_SIZE];
    tg_printable(tg_process_entry_name(entry), name, sizeof name);
    fputs("  ", page->stream);
    if (entry->rank >= 0)
        fprintf(page->stream, "rank %" PRId64 " ", entry->rank);
    fprintf(page->stream, "%s (pid %" PRId32 "): %s", name, entry->pid,
            tg_report_end(entry, end, sizeof end));
    if (entry->end == TG_PROCESS_RUNNING)
        fputs(" at the end of the trace", page->stream);
    else
        fprintf(page->stream, " at %s s",
                tg_quantity_moment(entry->ended_ns, page->report->start_ns, 6, moment));
    if (entry->last.kind != 0)
        fprintf(page->stream, "; last event: %s (%s s)",
                tg_event_headline_print(&entry->last, last, sizeof last),
                tg_quantity_moment(entry->last.time_ns, page->report->start_ns, 6, moment));
    if (entry->last_library.kind != 0 && entry->last.kind != TG_EVENT_LIBRARY_LOAD)
        fprintf(page->stream, "; last library: %s (%s s)",
                tg_event_headline_print(&entry->last_library, last, sizeof last),
                tg_quantity_moment(entry->last_library.time_ns, page->report->start_ns, 6, moment));
    fputc('\n', page->stream);
}

struct tg_error *tg_report_bad_ends(const struct tg_report_page *page)
{
    uint64_t found = 0, shown = 0;
    for (size_t i = 0; i < tg_process_model_count(page->report->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(page->report->processes, i);
        if (!tg_report_is_abnormal(page->report, entry))
            continue;
        if (found++ == 0)
            tg_report_title(page, "Abnormal or missing exits");
        if (page->options->all || shown < BAD_ENDS_SHOWN) {
            describe_bad_end(page, entry);
            shown++;
        }
    }
    tg_report_more(page, 2, found - shown);
    return NULL;
}

static void add_member(struct line_totals *totals, const struct tg_process_entry *entry)
{
    bool first = totals->members++ == 0;
    if (first || entry->start_ns < totals->earliest_start_ns)
        totals->earliest_start_ns = entry->start_ns;
    if (first || entry->start_ns > totals->latest_start_ns)
        totals->latest_start_ns = entry->start_ns;
    if (first || entry->last_ns < totals->earliest_end_ns)
        totals->earliest_end_ns = entry->last_ns;
    if (first || entry->last_ns > totals->latest_end_ns)
        totals->latest_end_ns = entry->last_ns;
    totals->stops += entry->stops;
    totals->stop_ns += entry->stop_ns;
}

/* The siblings that LEADER's line stands for, itself included: their totals and ranks. */
static struct tg_error *gather_members(const struct tg_report_page *page,
                                       const struct tg_process_entry *leader,
                                       const struct tg_process_fold *folds, struct line_totals *totals,
                                       char *ranks_text, size_t size)
{
    int64_t *ranks = calloc(folds[leader->index].members, sizeof *ranks);
    if (ranks == NULL)
        return tg_error_no_memory();
    size_t n_ranks = 0;
    for (const struct tg_process_entry *entry = leader; entry != NULL; entry = entry->next_sibling) {
        if (folds[entry->index].leader != leader->index ||
            !tg_selection_admits_process(page->report->selection, entry))
            continue;
        add_member(totals, entry);
        if (entry->rank >= 0)
            ranks[n_ranks++] = entry->rank;
    }
    n_ranks = tg_rank_ranges_sort(ranks, n_ranks);
    *ranks_text = '\0';
    size_t used = 0;
    if (n_ranks > 0 && page->many_jobs) {
        char job[48];
        used = (size_t)snprintf(ranks_text, size, "%s:", tg_printable(leader->job, job, sizeof job));
    }
    if (n_ranks > 0)
        tg_rank_ranges_print(ranks, n_ranks, ranks_text + used, size - used);
    free(ranks);
    return NULL;
}

static void print_range(const struct tg_report *report, uint64_t earliest_ns, uint64_t latest_ns,
                        char *buffer, size_t size)
{
    char earliest[TG_QUANTITY_SIZE], latest[TG_QUANTITY_SIZE];
    tg_quantity_moment(earliest_ns, report->start_ns, 6, earliest);
    tg_quantity_moment(latest_ns, report->start_ns, 6, latest);
    if (strcmp(earliest, latest) == 0)
        snprintf(buffer, size, "%s", earliest);
    else
        snprintf(buffer, size, "%s..%s", earliest, latest);
}

static void print_name(const struct tg_process_entry *entry, unsigned depth, bool in_each, struct row *row)
{
    char name[200];
    int indent = 2 * (int)(depth < DEEPEST ? depth : DEEPEST);
    tg_printable(tg_process_entry_name(entry), name, sizeof name);
    bool forked = entry->start_seen && entry->execs == 0 && entry->parent != NULL;
    snprintf(row->name, sizeof row->name, "%*s%s%s%s", indent, "", name, forked ? " (fork)" : "",
             in_each ? ", in each" : "");
}

static struct tg_error *fill_row(const struct tg_report_page *page, const struct tg_process_entry *entry,
                                 const struct tg_process_fold *folds, unsigned depth, bool in_each,
                                 struct row *row)
{
    struct line_totals totals = {0};
    struct tg_error *error = gather_members(page, entry, folds, &totals, row->rank, sizeof row->rank);
    if (error != NULL)
        return error;
    print_name(entry, depth, in_each, row);
    if (totals.members > 1)
        snprintf(row->pid, sizeof row->pid, "%zu processes", totals.members);
    else
        snprintf(row->pid, sizeof row->pid, "%" PRId32, entry->pid);
    print_range(page->report, totals.earliest_start_ns, totals.latest_start_ns, row->start,
                sizeof row->start);
    print_range(page->report, totals.earliest_end_ns, totals.latest_end_ns, row->end, sizeof row->end);
    if (entry->end == TG_PROCESS_RUNNING)
        snprintf(row->end, sizeof row->end, "-");
    if (entry->threads_peak == entry->threads_started)
        snprintf(row->threads, sizeof row->threads, "%" PRIu64, entry->threads_started);
    else
        snprintf(row->threads, sizeof row->threads, "%" PRIu64 " (%" PRIu64 " at once)",
                 entry->threads_started, entry->threads_peak);
    tg_quantity_count(totals.stops, row->stops);
    tg_quantity_duration(totals.stop_ns, row->stopped);
    tg_report_end(entry, row->how, sizeof row->how);
    if (in_each) /* different in each */
        row->pid[0] = row->start[0] = row->end[0] = row->stops[0] = row->stopped[0] = '\0';
    row->last[0] = row->last_at[0] = '\0';
    if (entry->last.kind == 0)
        return NULL;
    tg_event_headline_print(&entry->last, row->last, sizeof row->last);
    if (totals.members == 1 && !in_each)
        tg_quantity_moment(entry->last.time_ns, page->report->start_ns, 6, row->last_at);
    return NULL;
}

/* Rows in preorder; what a leader's line stands for is left out with all below it. */
static struct tg_error *add_rows(const struct tg_report_page *page, const struct tg_process_fold *folds,
                                 bool is_brief, size_t most, struct tg_text_table *table, uint64_t *lines)
{
    const struct tg_process_model *model = page->report->processes;
    unsigned depth = 0, hidden_below = UINT32_MAX, each_below = UINT32_MAX;
    bool flat = tg_selection_limits_processes(page->report->selection);
    for (const struct tg_process_entry *entry = tg_process_model_next(model, NULL, &depth); entry != NULL;
         entry = tg_process_model_next(model, entry, &depth)) {
        if (depth <= hidden_below)
            hidden_below = UINT32_MAX;
        if (depth <= each_below)
            each_below = UINT32_MAX;
        if (hidden_below != UINT32_MAX)
            continue;
        if (folds[entry->index].leader != entry->index) {
            hidden_below = depth;
            continue;
        }
        if (!tg_selection_admits_process(page->report->selection, entry))
            continue;
        struct row row;
        struct tg_error *error =
            fill_row(page, entry, folds, flat ? 0 : depth, each_below != UINT32_MAX, &row);
        const char *cells[] = {row.name,  row.rank,    row.pid, row.start,   row.end, row.threads,
                               row.stops, row.stopped, row.how, row.last_at, row.last};
        const char *brief[] = {row.name, row.rank, row.pid, row.threads, row.how, row.last};
        if (error == NULL && *lines < most)
            error = tg_text_table_add(table, is_brief ? brief : cells);
        if (error != NULL)
            return error;
        ++*lines;
        if (folds[entry->index].members > 1 && each_below == UINT32_MAX)
            each_below = depth;
    }
    return NULL;
}

static struct tg_error *find_folds(const struct tg_report_page *page, struct tg_process_fold *folds)
{
    const struct tg_process_model *model = page->report->processes;
    size_t count = tg_process_model_count(model);
    if (page->options->all || tg_selection_limits_processes(page->report->selection)) {
        for (size_t i = 0; i < count; i++)
            folds[i] = (struct tg_process_fold){.leader = i, .members = 1};
        return NULL;
    }
    size_t *shapes = calloc(count + 1, sizeof *shapes);
    if (shapes == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_process_shapes(model, shapes);
    if (error == NULL)
        error = tg_process_folds(model, shapes, FOLD_LEAST, folds);
    free(shapes);
    return error;
}

/* A table of at most MOST lines; *LINES: how many there would be, before it is printed below the title. */
static struct tg_error *write_table(const struct tg_report_page *page, const char *const *headings,
                                    bool is_brief, size_t most, uint64_t *lines)
{
    size_t count = tg_process_model_count(page->report->processes);
    struct tg_process_fold *folds = calloc(count + 1, sizeof *folds);
    struct tg_text_table *table = NULL;
    struct tg_error *error = folds == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL)
        error = tg_text_table_create(headings, page->options->colour, &table);
    if (error == NULL)
        error = find_folds(page, folds);
    if (error == NULL)
        error = add_rows(page, folds, is_brief, most, table, lines);
    if (error == NULL && is_brief && page->options->columns > 0)
        tg_text_table_limit(table, page->options->columns);
    if (error == NULL)
        error = tg_text_table_print(table, page->stream);
    tg_text_table_destroy(table);
    free(folds);
    return error;
}

struct tg_error *tg_report_tree(const struct tg_report_page *page)
{
    static const char *const headings[] = {"PROCESS", "RANK",     ">PID",  ">START",   ">END", ">THREADS",
                                           ">STOPS",  ">STOPPED", "ENDED", ">LAST AT", "LAST", NULL};
    size_t count = tg_process_model_count(page->report->processes);
    uint64_t lines = 0;
    tg_report_title(page, "Processes");
    if (count == 0) {
        fputs("none\n", page->stream);
        return NULL;
    }
    struct tg_error *error = write_table(page, headings, false, SIZE_MAX, &lines);
    if (error == NULL && lines < count && !tg_selection_limits_processes(page->report->selection))
        fputs("Similar processes share a line; --all shows each.\n", page->stream);
    return error;
}

struct tg_error *tg_report_tree_brief(const struct tg_report_page *page, size_t lines)
{
    static const char *const headings[] = {"PROCESS", "RANK",       ">PID", ">THREADS",
                                           "ENDED",   "LAST EVENT", NULL};
    enum { AROUND = 4, LEAST = 1 }; /* lines: a blank one, title, headings, how many more */
    uint64_t found = 0;
    if (lines < AROUND + LEAST || tg_process_model_count(page->report->processes) == 0)
        return NULL;
    tg_report_title(page, "Processes");
    struct tg_error *error = write_table(page, headings, true, lines - AROUND, &found);
    if (error == NULL && found > lines - AROUND)
        tg_report_more(page, 0, found - (lines - AROUND));
    return error;
}
