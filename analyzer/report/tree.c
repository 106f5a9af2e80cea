/* Processes in a report: abnormal exits, and the tree. */
#include "analyzer/report/tree.h"
#include "analyzer/output/quantity.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/report/fields.h"
#include "analyzer/report/process_shape.h"
#include "analyzer/report/sections.h"
#include "format/base/array.h"
#include "format/base/printable.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FOLD_LEAST = 8, /* so many siblings of one shape share a line */
    DEEPEST = 32,   /* levels of indentation */
    BAD_ENDS_SHOWN = 20,
};

/* A line of the table: one process, or several that are alike. */
struct row {
    char name[320], rank[96], pid[48], start[2 * TG_QUANTITY_SIZE + 4], end[2 * TG_QUANTITY_SIZE + 4];
    char threads[64], stops[TG_QUANTITY_SIZE], stopped[TG_QUANTITY_SIZE], how[96], last_at[TG_QUANTITY_SIZE],
        last[320];
};

#define CELL(heading, member) TG_FIELD(struct row, heading, NULL, CHARS, member)

static const struct tg_report_field line_fields[] = {
    CELL("PROCESS", name), CELL("RANK", rank),        CELL(">PID", pid),     CELL(">START", start),
    CELL(">END", end),     CELL(">THREADS", threads), CELL(">STOPS", stops), CELL(">STOPPED", stopped),
    CELL("ENDED", how),    CELL(">LAST AT", last_at), CELL("LAST", last),    {0}};

static const struct tg_report_field brief_fields[] = {CELL("PROCESS", name),
                                                      CELL("RANK", rank),
                                                      CELL(">PID", pid),
                                                      CELL(">THREADS", threads),
                                                      CELL("ENDED", how),
                                                      CELL("LAST EVENT", last),
                                                      {0}};

struct headline_row {
    uint64_t time_ns, address;
    int32_t tid;
    unsigned kind;
    char what[256];
    const char *object;
};

static const struct tg_report_field headline_fields[] = {
    TG_FIELD(struct headline_row, NULL, "t_ns", MOMENT, time_ns),
    TG_FIELD(struct headline_row, NULL, "tid", SIGNED, tid),
    TG_FIELD(struct headline_row, NULL, "kind", KIND, kind),
    TG_FIELD(struct headline_row, NULL, "what", CHARS, what),
    TG_FIELD(struct headline_row, NULL, "object", TEXT, object),
    TG_FIELD(struct headline_row, NULL, "address", ADDRESS, address),
    {0}};

/* A process as JSON has it. */
struct member_row {
    struct tg_process_entry entry;
    size_t parent;
    struct tg_report_name origin;
    struct tg_report_maybe rank, exit_status;
    const char *end, *signal, *detach_reason;
    const struct headline_row *last, *last_library; /* NULL none */
};

#define MEMBER(key, form, member) TG_FIELD(struct member_row, NULL, key, form, member)

static const struct tg_report_field member_fields[] = {
    MEMBER("index", COUNT, entry.index),
    MEMBER("pid", SIGNED, entry.pid),
    MEMBER("parent", PROCESS, parent),
    MEMBER("parent_pid", SIGNED, entry.parent_pid),
    MEMBER("origin", NAME, origin),
    MEMBER("program", TEXT, entry.program),
    MEMBER("execs", COUNT, entry.execs),
    MEMBER("rank", MAYBE, rank),
    MEMBER("ranks", SIGNED, entry.size),
    MEMBER("job", TEXT, entry.job),
    MEMBER("rank_source", TEXT, entry.rank_source),
    MEMBER("host", TEXT, entry.host),
    MEMBER("start_ns", MOMENT, entry.start_ns),
    MEMBER("end_ns", MOMENT, entry.last_ns),
    MEMBER("end", TEXT, end),
    MEMBER("exit_status", MAYBE, exit_status),
    MEMBER("signal", TEXT, signal),
    MEMBER("core_dumped", FLAG, entry.core_dumped),
    MEMBER("detach_reason", TEXT, detach_reason),
    MEMBER("threads", COUNT, entry.threads_started),
    MEMBER("threads_peak", COUNT, entry.threads_peak),
    MEMBER("threads_alive", COUNT, entry.threads_alive),
    MEMBER("events", COUNT, entry.events),
    MEMBER("library_events", COUNT, entry.library_events),
    MEMBER("signals", COUNT, entry.signals),
    MEMBER("stops", COUNT, entry.stops),
    MEMBER("stop_ns", COUNT, entry.stop_ns),
    TG_FIELD_OBJECT(struct member_row, "last", last, headline_fields),
    TG_FIELD_OBJECT(struct member_row, "last_library", last_library, headline_fields),
    {0}};

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
    if (entry->rank >= 0 && page->many_jobs && *entry->job != '\0') {
        fputs("of job ", page->stream);
        tg_printable_write(page->stream, entry->job);
        fputc(' ', page->stream);
    }
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

struct lines {
    struct row *rows;
    size_t count, capacity;
    size_t most; /* so many are kept */
    uint64_t found;
};

/* Rows in preorder; what a leader's line includes is left out with all below it. */
static struct tg_error *add_rows(const struct tg_report_page *page, const struct tg_process_fold *folds,
                                 struct lines *lines)
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
        struct tg_error *error = NULL;
        if (lines->found++ < lines->most)
            error = fill_row(page, entry, folds, flat ? 0 : depth, each_below != UINT32_MAX, &row);
        if (error == NULL && lines->found <= lines->most)
            error = TG_ARRAY_APPEND(lines->rows, lines->count, lines->capacity, row);
        if (error != NULL)
            return error;
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

/* A table of at most MOST lines; *FOUND: how many there would be. */
static struct tg_error *write_table(const struct tg_report_page *page, const struct tg_report_field *fields,
                                    size_t columns, size_t most, uint64_t *found)
{
    size_t count = tg_process_model_count(page->report->processes);
    struct tg_process_fold *folds = calloc(count + 1, sizeof *folds);
    struct lines lines = {.most = most};
    const struct tg_report_look look = {
        .stream = page->stream, .colour = page->options->colour, .columns = columns};
    struct tg_error *error = folds == NULL ? tg_error_no_memory() : find_folds(page, folds);
    if (error == NULL)
        error = add_rows(page, folds, &lines);
    if (error == NULL)
        error = tg_report_table_write(
            &look, &(struct tg_report_rows){fields, lines.rows, lines.count, sizeof *lines.rows},
            lines.count);
    *found = lines.found;
    free(lines.rows);
    free(folds);
    return error;
}

struct tg_error *tg_report_tree(const struct tg_report_page *page)
{
    size_t count = tg_process_model_count(page->report->processes);
    uint64_t found;
    tg_report_title(page, "Processes");
    if (count == 0) {
        fputs("none\n", page->stream);
        return NULL;
    }
    struct tg_error *error = write_table(page, line_fields, 0, SIZE_MAX, &found);
    if (error == NULL && found < count && !tg_selection_limits_processes(page->report->selection))
        fputs("Similar processes share a line; --all shows each.\n", page->stream);
    return error;
}

struct tg_error *tg_report_tree_brief(const struct tg_report_page *page, size_t lines)
{
    enum { AROUND = 4, LEAST = 1 }; /* lines: a blank one, title, headings, how many more */
    uint64_t found;
    if (lines < AROUND + LEAST || tg_process_model_count(page->report->processes) == 0)
        return NULL;
    tg_report_title(page, "Processes");
    struct tg_error *error = write_table(page, brief_fields, page->options->columns, lines - AROUND, &found);
    if (error == NULL && found > lines - AROUND)
        tg_report_more(page, 0, found - (lines - AROUND));
    return error;
}

/* ---- JSON */

static const struct headline_row *fill_headline(const struct tg_event_headline *headline,
                                                struct headline_row *row)
{
    if (headline->kind == 0)
        return NULL;
    *row = (struct headline_row){.time_ns = headline->time_ns,
                                 .address = headline->kind == TG_EVENT_PROCESS_EXIT ? 0 : headline->address,
                                 .tid = headline->tid,
                                 .kind = headline->kind,
                                 .object = tg_event_headline_text(headline)};
    tg_event_headline_print(headline, row->what, sizeof row->what);
    return row;
}

static struct tg_report_name origin_of(const struct tg_process_entry *entry)
{
    if (!entry->start_seen)
        return (struct tg_report_name){.name = "unknown"};
    return (struct tg_report_name){.name =
                                       tg_event_value_name(TG_EVENT_PROCESS_START, "origin", entry->origin),
                                   .number = entry->origin};
}

static void write_process(struct tg_json *json, const struct tg_report *report,
                          const struct tg_process_entry *entry)
{
    static const char *const ends[] = {[TG_PROCESS_RUNNING] = "running",
                                       [TG_PROCESS_EXITED] = "exited",
                                       [TG_PROCESS_KILLED] = "signaled",
                                       [TG_PROCESS_LOST] = "lost",
                                       [TG_PROCESS_DETACHED] = "detached"};
    char signal[64];
    struct headline_row last, last_library;
    const struct member_row row = {
        .entry = *entry,
        .parent = entry->parent != NULL ? entry->parent->index : SIZE_MAX,
        .origin = origin_of(entry),
        .rank = {entry->rank >= 0, entry->rank},
        .exit_status = {entry->end == TG_PROCESS_EXITED, entry->status},
        .end = ends[entry->end],
        .signal =
            entry->end == TG_PROCESS_KILLED ? tg_signal_name(entry->status, signal, sizeof signal) : NULL,
        .detach_reason = entry->end == TG_PROCESS_DETACHED ? entry->detach_reason : NULL,
        .last = fill_headline(&entry->last, &last),
        .last_library = fill_headline(&entry->last_library, &last_library)};
    tg_json_begin_object(json);
    tg_report_members(json, report, member_fields, &row);
    tg_json_end_object(json);
}

void tg_report_processes_json(const struct tg_report *report, struct tg_json *json)
{
    tg_json_key(json, "processes");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_process_model_count(report->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(report->processes, i);
        if (tg_selection_admits_process(report->selection, entry))
            write_process(json, report, entry);
    }
    tg_json_end_array(json);
}
