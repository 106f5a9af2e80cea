#include "analyzer/page/strip_rows.h"

#include "analyzer/finding/words.h"
#include "analyzer/output/rank_ranges.h"
#include "analyzer/page/culprits.h"
#include "analyzer/page/query.h"
#include "format/base/array.h"
#include "format/base/signal_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A process with rows in the time line. */
struct process {
    size_t index;
    const struct tg_process_entry *entry;
    char *class_words; /* what it did at the end */
    bool is_shown, is_culprit;
};

struct making {
    const struct tg_page *page;
    const char *query;
    struct tg_strip_rows *rows;
    struct process *processes;
    size_t n_processes;
    bool has_jobs;
};

void tg_strip_rows_deinit(struct tg_strip_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].id);
        free(rows->rows[i].label);
        free(rows->rows[i].detail);
        free(rows->rows[i].lines);
    }
    free(rows->rows);
    *rows = (struct tg_strip_rows){0};
}

/* ---- processes */

static const char *words_of(enum tg_activity activity)
{
    static const char *const words[TG_ACTIVITY_COUNT] = {"idle",
                                                         "computing",
                                                         "in MPI",
                                                         "waiting at an OpenMP barrier",
                                                         "waiting for a lock",
                                                         "in a critical section",
                                                         "loading libraries",
                                                         "stopped",
                                                         "held"};
    return words[activity];
}

static void print_end(FILE *stream, const struct tg_process_entry *entry)
{
    char text[48];
    if (entry->end == TG_PROCESS_KILLED)
        fprintf(stream, ", %s", tg_signal_name(entry->status, text, sizeof text));
    else if (entry->end == TG_PROCESS_EXITED && entry->status != 0)
        fprintf(stream, ", exit %" PRId64, entry->status);
    else if (entry->end == TG_PROCESS_EXITED)
        fputs(", ended", stream);
}

/* What PROCESS did last: the activity of its first thread, or of the first that shows any. */
static struct tg_error *describe(const struct making *making, struct process *process, const char *call)
{
    size_t size;
    FILE *stream = open_memstream(&process->class_words, &size);
    if (stream == NULL)
        return tg_error_no_memory();
    enum tg_activity last = TG_ACTIVITY_NONE;
    size_t i = tg_timeline_first_of_process(making->page->timeline, process->index);
    for (; i != SIZE_MAX; i = tg_timeline_next_of_process(making->page->timeline, i)) {
        const struct tg_timeline_row *row = tg_timeline_at(making->page->timeline, i);
        process->is_shown |= row->is_shown;
        if (row->is_shown && last == TG_ACTIVITY_NONE)
            last = row->last;
    }
    if (call != NULL && last != TG_ACTIVITY_STOPPED && last != TG_ACTIVITY_HELD)
        fprintf(stream, "in %s", call);
    else if (process->is_shown)
        fputs(words_of(last), stream);
    else
        fputs(process->entry->rank >= 0 ? tg_process_entry_name(process->entry) : "no MPI seen", stream);
    print_end(stream, process->entry);
    return fclose(stream) == 0 ? NULL : tg_error_no_memory();
}

static int compare_processes(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    bool x_is_rank = x->entry->rank >= 0, y_is_rank = y->entry->rank >= 0;
    if (x_is_rank != y_is_rank)
        return x_is_rank ? -1 : 1;
    int order = x_is_rank ? strcmp(x->entry->job, y->entry->job) : (int)y->is_shown - (int)x->is_shown;
    if (order != 0)
        return order;
    if (x->entry->rank != y->entry->rank)
        return x->entry->rank < y->entry->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct tg_error *list_processes(struct making *making)
{
    const struct tg_process_model *processes = making->page->words.processes;
    size_t count = tg_process_model_count(processes);
    making->processes = calloc(count + 1, sizeof *making->processes);
    const char **calls = calloc(count + 1, sizeof *calls);
    const struct tg_mpi_model *mpi = making->page->words.mpi;
    struct tg_error *error = making->processes == NULL || calls == NULL ? tg_error_no_memory() : NULL;
    for (size_t i = 0; error == NULL && mpi != NULL && i < tg_mpi_model_thread_count(mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->in_call && thread->process < count && calls[thread->process] == NULL)
            calls[thread->process] = thread->call.name;
    }
    for (size_t i = 0; error == NULL && i < count; i++) {
        if (tg_timeline_first_of_process(making->page->timeline, i) == SIZE_MAX)
            continue;
        struct process *process = &making->processes[making->n_processes++];
        *process = (struct process){.index = i,
                                    .entry = tg_process_model_at(processes, i),
                                    .is_culprit = tg_page_is_culprit(making->page, i, 0)};
        error = describe(making, process, calls[i]);
    }
    free(calls);
    if (error == NULL)
        qsort(making->processes, making->n_processes, sizeof *making->processes, compare_processes);
    return error;
}

/* ---- rows */

static char *print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *print(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return length < 0 ? NULL : text;
}

/* Takes ROW with its strings, where they are there: *INDEX, SIZE_MAX where no room is left. */
static struct tg_error *add(struct making *making, struct tg_strip_row *row, size_t *index)
{
    struct tg_strip_rows *rows = making->rows;
    struct tg_error *error =
        row->id == NULL || row->label == NULL || row->detail == NULL ? tg_error_no_memory() : NULL;
    *index = SIZE_MAX;
    bool has_room = rows->count < TG_STRIP_ROWS;
    if (error == NULL && has_room) {
        row->depth = row->parent == SIZE_MAX ? 0 : rows->rows[row->parent].depth + 1;
        row->is_open =
            row->can_open && (making->page->is_file || tg_query_lists(making->query, "open", row->id));
        error = TG_ARRAY_APPEND(rows->rows, rows->count, rows->capacity, *row);
    }
    if (error == NULL && has_room) {
        *index = rows->count - 1;
        return NULL;
    }
    rows->left_out += error == NULL;
    free(row->id);
    free(row->label);
    free(row->detail);
    free(row->lines);
    return error;
}

/* The threads of PROCESS that show what they do; where none does, its first one. */
static struct tg_error *list_lines(const struct making *making, const struct process *process,
                                   struct tg_strip_row *row, size_t *capacity)
{
    const struct tg_timeline *timeline = making->page->timeline;
    struct tg_error *error = NULL;
    size_t first = tg_timeline_first_of_process(timeline, process->index);
    for (size_t i = first; error == NULL && i != SIZE_MAX; i = tg_timeline_next_of_process(timeline, i)) {
        bool is_shown = tg_timeline_at(timeline, i)->is_shown;
        if (!is_shown && (process->is_shown || i != first))
            continue;
        error = TG_ARRAY_APPEND(row->lines, row->n_lines, *capacity, i);
        row->n_shown += is_shown;
    }
    return error;
}

static char *label_process(const struct making *making, const struct process *process)
{
    const struct tg_process_entry *entry = process->entry;
    const char *name = tg_process_entry_name(entry);
    if (entry->rank >= 0)
        return making->has_jobs ? print("rank %" PRId64 " of %s", entry->rank, entry->job)
                                : print("rank %" PRId64, entry->rank);
    return print("%s (%" PRId32 ")", name, entry->pid);
}

static char *label_thread(const struct making *making, const struct tg_timeline_row *line)
{
    const struct tg_openmp_model *openmp = making->page->words.openmp;
    const char *name = tg_process_model_thread_name(making->page->words.processes, line->process, line->tid);
    for (size_t i = 0; openmp != NULL && i < tg_openmp_model_worker_count(openmp); i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(openmp, i);
        if (worker->process == line->process && worker->tid == line->tid)
            return print("worker %" PRIu64, worker->number);
    }
    if (line->tid == line->pid)
        return print("first thread");
    return name != NULL ? print("thread %" PRId32 " \"%s\"", line->tid, name)
                        : print("thread %" PRId32, line->tid);
}

static struct tg_error *add_threads(struct making *making, size_t parent)
{
    struct tg_error *error = NULL;
    /* the array of rows may move */
    for (size_t i = 0; error == NULL && i < making->rows->rows[parent].n_lines; i++) {
        size_t line = making->rows->rows[parent].lines[i], index, *lines = malloc(sizeof *lines);
        const struct tg_timeline_row *is = tg_timeline_at(making->page->timeline, line);
        if (lines == NULL)
            return tg_error_no_memory();
        *lines = line;
        struct tg_strip_row row = {.id = print("t%zu", line),
                                   .label = label_thread(making, is),
                                   .detail = print("%s", words_of(is->last)),
                                   .parent = parent,
                                   .lines = lines,
                                   .n_lines = 1,
                                   .n_shown = is->is_shown,
                                   .process = is->process,
                                   .rank = making->rows->rows[parent].rank,
                                   .tid = is->tid,
                                   .n_processes = 1,
                                   .is_culprit = tg_page_is_culprit(making->page, is->process, is->tid)};
        error = add(making, &row, &index);
    }
    return error;
}

static struct tg_error *add_process(struct making *making, const struct process *process, size_t parent)
{
    size_t capacity = 0, index;
    struct tg_strip_row row = {.id = print("p%zu", process->index),
                               .label = label_process(making, process),
                               .detail = print("%s", process->class_words),
                               .parent = parent,
                               .process = process->index,
                               .rank = process->entry->rank,
                               .n_processes = 1,
                               .is_culprit = process->is_culprit};
    struct tg_error *error = list_lines(making, process, &row, &capacity);
    row.can_open = row.n_lines > 1;
    if (error != NULL) {
        free(row.id), free(row.label), free(row.detail), free(row.lines);
        return error;
    }
    error = add(making, &row, &index);
    return error == NULL && index != SIZE_MAX && making->rows->rows[index].is_open
               ? add_threads(making, index)
               : error;
}

/* ---- rows of several processes */

static struct tg_error *add_processes(struct making *making, const struct process *const *members,
                                      size_t count, size_t parent, const char *prefix);

static char *label_several(const struct process *const *members, size_t count)
{
    char text[120];
    int64_t *ranks = calloc(count, sizeof *ranks);
    size_t n = 0;
    for (size_t i = 0; ranks != NULL && i < count; i++)
        if (members[i]->entry->rank >= 0)
            ranks[n++] = members[i]->entry->rank;
    size_t different = n == count ? tg_rank_ranges_sort(ranks, n) : 0;
    char *label = different == 1 && count == 1 ? print("rank %" PRId64, ranks[0])
                  : different == count
                      ? print("ranks %s", tg_rank_ranges_print(ranks, different, text, sizeof text))
                      : print("%zu %s", count, n == count ? "ranks of several jobs" : "processes");
    free(ranks);
    return label;
}

/* One row for all of MEMBERS, more than one. */
static struct tg_error *add_several(struct making *making, const struct process *const *members, size_t count,
                                    size_t parent, char *id, const char *detail)
{
    size_t capacity = 0, index;
    struct tg_strip_row row = {.id = id,
                               .label = label_several(members, count),
                               .detail = print("%s", detail),
                               .parent = parent,
                               .process = SIZE_MAX,
                               .rank = -1,
                               .n_processes = count,
                               .can_open = true};
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < count; i++) {
        error = list_lines(making, members[i], &row, &capacity);
        row.is_culprit |= members[i]->is_culprit;
    }
    if (error != NULL) {
        free(row.id), free(row.label), free(row.detail), free(row.lines);
        return error;
    }
    error = add(making, &row, &index);
    if (error != NULL || index == SIZE_MAX || !making->rows->rows[index].is_open)
        return error;
    return add_processes(making, members, count, index, making->rows->rows[index].id);
}

static bool is_alike(const struct process *a, const struct process *b)
{
    return strcmp(a->class_words, b->class_words) == 0 && a->is_culprit == b->is_culprit &&
           (a->entry->rank >= 0) == (b->entry->rank >= 0) && a->is_shown == b->is_shown;
}

/* MEMBERS one by one where they are few; otherwise in blocks. */
static struct tg_error *add_processes(struct making *making, const struct process *const *members,
                                      size_t count, size_t parent, const char *prefix)
{
    struct tg_error *error = NULL;
    char *own_prefix = print("%s", prefix); /* the row that it belongs to may move */
    size_t block = count <= TG_STRIP_CHILDREN ? 1 : (count + TG_STRIP_TOP - 1) / TG_STRIP_TOP;
    if (own_prefix == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; error == NULL && i < count; i += block) {
        size_t n = count - i < block ? count - i : block;
        error = n == 1 ? add_process(making, members[i], parent)
                       : add_several(making, members + i, n, parent, print("%s.%zu", own_prefix, i / block),
                                     members[i]->class_words);
    }
    free(own_prefix);
    return error;
}

/* The number of FNV: classes keep their ids while others come and go. */
static uint64_t hash_of(const struct process *process)
{
    uint64_t hash =
        0xcbf29ce484222325u ^ (uint64_t)process->is_culprit ^ (uint64_t)(process->entry->rank >= 0) << 1;
    for (const char *at = process->class_words; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    return hash & 0xffffffffffu;
}

/* Processes of which nothing is known but that they were there, in one row. */
static struct tg_error *add_silent(struct making *making, size_t first)
{
    size_t count = making->n_processes - first;
    if (count == 0)
        return NULL;
    const struct process **members = calloc(count, sizeof *members);
    if (members == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < count; i++)
        members[i] = &making->processes[first + i];
    struct tg_error *error = count == 1 ? add_process(making, members[0], SIZE_MAX)
                                        : add_several(making, members, count, SIZE_MAX, print("silent"),
                                                      "no MPI and no OpenMP seen");
    free(members);
    return error;
}

/* Classes of the first COUNT processes, those of culprits first, else in the order of their first members. */
static struct tg_error *add_classes(struct making *making, size_t count)
{
    struct tg_error *error = NULL;
    bool *is_done = calloc(count + 1, sizeof *is_done);
    const struct process **members = calloc(count + 1, sizeof *members);
    if (is_done == NULL || members == NULL)
        error = tg_error_no_memory();
    for (int turn = 0; error == NULL && turn < 2; turn++)
        for (size_t i = 0; error == NULL && i < count; i++) {
            const struct process *first = &making->processes[i];
            size_t n = 0;
            if (is_done[i] || first->is_culprit != (turn == 0))
                continue;
            for (size_t k = i; k < count; k++)
                if (!is_done[k] && is_alike(first, &making->processes[k])) {
                    is_done[k] = true;
                    members[n++] = &making->processes[k];
                }
            error = n == 1 ? add_process(making, first, SIZE_MAX)
                           : add_several(making, members, n, SIZE_MAX, print("c%" PRIx64, hash_of(first)),
                                         first->class_words);
        }
    free(is_done);
    free(members);
    return error;
}

struct tg_error *tg_strip_rows_make(const struct tg_page *page, const char *query, struct tg_strip_rows *rows)
{
    struct making making = {.page = page, .query = query, .rows = rows};
    *rows = (struct tg_strip_rows){0};
    making.has_jobs = tg_words_has_several_jobs(page->words.processes);
    struct tg_error *error = list_processes(&making);
    size_t shown = 0;
    while (shown < making.n_processes &&
           (making.processes[shown].is_shown || making.processes[shown].entry->rank >= 0))
        shown++;
    if (error == NULL && shown <= TG_STRIP_CHILDREN)
        for (size_t i = 0; error == NULL && i < shown; i++)
            error = add_process(&making, &making.processes[i], SIZE_MAX);
    else if (error == NULL)
        error = add_classes(&making, shown);
    if (error == NULL)
        error = add_silent(&making, shown);
    for (size_t i = 0; i < making.n_processes; i++)
        free(making.processes[i].class_words);
    free(making.processes);
    if (error != NULL)
        tg_strip_rows_deinit(rows);
    return error;
}
