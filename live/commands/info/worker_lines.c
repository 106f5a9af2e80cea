#include "live/commands/info/worker_lines.h"
#include "live/commands/info/place.h"
#include "live/commands/info/worker_marks.h"

#include "analyzer/finding/words.h"
#include "analyzer/output/openmp_words.h"
#include "analyzer/output/quantity.h"
#include "format/base/hash.h"
#include "format/base/printable.h"
#include "live/commands/info/number_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANGES = 16 }; /* of a list: how many there are is told as well */

/* A place that several workers are inside of: what differs between them. */
struct shared_place {
    struct tg_number_list teams, threads, ids;
    uint64_t first_ns, last_ns;
};

/* Workers of one process, or of several that are alike, that are at the same places. */
struct group {
    char *key;                             /* places that all of them share */
    const struct tg_openmp_worker *worker; /* any one of them */
    const struct tg_mpi_thread *call;      /* of that one, NULL: it is in none */
    bool is_current, is_held;
    bool is_alone; /* nobody else of its process would run with it */
    size_t n_workers;
    struct tg_number_list numbers;
    struct shared_place *places; /* as many as that worker has, and one for the call */
    UT_hash_handle hh;
};

/* Processes whose groups are alike. */
struct block {
    char *key;
    size_t process; /* any one of them */
    size_t n_processes;
    struct tg_number_list ranks, pids;
    struct group *groups;
    UT_hash_handle hh;
};

struct writing {
    const struct tg_console *console;
    struct tg_verdict_input input;
    const struct tg_openmp_worker *current;
    struct tg_worker_marks marks;
    bool is_each;
    struct block *blocks;
    size_t n_workers;
};

static void destroy_group(struct group *group)
{
    if (group == NULL)
        return;
    for (size_t i = 0; group->places != NULL && i <= group->worker->n_places; i++) {
        tg_number_list_deinit(&group->places[i].teams);
        tg_number_list_deinit(&group->places[i].threads);
        tg_number_list_deinit(&group->places[i].ids);
    }
    tg_number_list_deinit(&group->numbers);
    free(group->places);
    free(group->key);
    free(group);
}

static void destroy_block(struct block *block)
{
    struct group *group, *next;
    if (block == NULL)
        return;
    HASH_ITER (hh, block->groups, group, next) {
        HASH_DEL(block->groups, group);
        destroy_group(group);
    }
    tg_number_list_deinit(&block->ranks);
    tg_number_list_deinit(&block->pids);
    free(block->key);
    free(block);
}

/* ---- words */

/* " 3", or "s 3-5": lists that are not known yet (NULL) leave a gap that is the same for all. */
static void write_list(FILE *out, const struct tg_number_list *list)
{
    if (list == NULL)
        return;
    fputs(list->count > 1 ? "s " : " ", out);
    tg_number_list_print(list, MAX_RANGES, out);
}

static void write_since(FILE *out, const struct tg_verdict_input *input, const struct shared_place *shared)
{
    char first[TG_QUANTITY_SIZE], last[TG_QUANTITY_SIZE];
    if (shared != NULL) {
        fprintf(out, ", since %s", tg_quantity_moment(shared->first_ns, input->start_ns, 6, first));
        tg_quantity_moment(shared->last_ns, input->start_ns, 6, last);
        if (strcmp(first, last) != 0)
            fprintf(out, " to %s", last);
        fputs(" s", out);
    }
    fputc('\n', out);
}

static void write_region(FILE *out, const struct tg_verdict_input *input,
                         const struct tg_openmp_worker *worker, const struct tg_openmp_place *place,
                         const struct shared_place *shared)
{
    const struct tg_openmp_team *team = tg_openmp_model_team(input->openmp, worker->process, place->team);
    fputs("parallel region", out);
    write_list(out, shared == NULL ? NULL : &shared->teams);
    fprintf(out, ", level %" PRIu64 ", thread", place->level);
    write_list(out, shared == NULL ? NULL : &shared->threads);
    if (team != NULL && team->size != 0)
        fprintf(out, " of %" PRIu64, team->size);
}

static void write_place(FILE *out, const struct tg_verdict_input *input,
                        const struct tg_openmp_worker *worker, const struct tg_openmp_place *place,
                        const struct shared_place *shared)
{
    fputs("      ", out);
    switch (place->kind) {
    case TG_OPENMP_IN_REGION:
        write_region(out, input, worker, place, shared);
        break;
    case TG_OPENMP_IN_ZONE:
        fprintf(out, "%s%s", tg_openmp_words_zone(place->what, place->seen)->phrase,
                tg_openmp_words_inferred(place->seen));
        if (place->section != 0)
            fprintf(out, ", section %" PRIu64, place->section);
        break;
    case TG_OPENMP_IN_MUTEX_WAIT:
    case TG_OPENMP_IN_MUTEX:
        fputs(place->kind == TG_OPENMP_IN_MUTEX ? "inside the " : "waiting for the ", out);
        tg_words_lock(out, input, worker->process, place);
        break;
    case TG_OPENMP_IN_SYNC:
        fprintf(out, "waiting at the %s", tg_openmp_words_sync(place->what)->phrase);
        if (place->what <= TG_OMP_SYNC_BARRIER_IMPLICIT && place->id != 0)
            fprintf(out, " (number %" PRIu64 " of its team)", place->id);
        break;
    case TG_OPENMP_IN_TASK:
        fputs("task", out);
        write_list(out, shared == NULL ? NULL : &shared->ids);
        break;
    }
    tg_words_code(out, input, worker->process, place->code);
    write_since(out, input, shared);
}

static void write_call(FILE *out, const struct tg_verdict_input *input, const struct tg_mpi_thread *call,
                       const struct shared_place *shared)
{
    fputs("      ", out);
    tg_words_call(out, &call->call);
    tg_words_code(out, input, call->process, call->call.code);
    write_since(out, input, shared);
}

/* All places of a worker, with what is shared or (NULL) without what differs. */
static void write_places(FILE *out, const struct tg_verdict_input *input, const struct group *group,
                         const struct shared_place *shared)
{
    const struct tg_openmp_worker *worker = group->worker;
    for (size_t i = 0; i < worker->n_places; i++)
        write_place(out, input, worker, &worker->places[i], shared == NULL ? NULL : &shared[i]);
    if (group->call != NULL)
        write_call(out, input, group->call, shared == NULL ? NULL : &shared[worker->n_places]);
}

static void write_group(FILE *out, const struct tg_verdict_input *input, const struct group *group)
{
    const struct tg_openmp_worker *worker = group->worker;
    bool is_inside = worker->n_places > 0 || group->call != NULL;
    fprintf(out, "%c%c worker", worker->alive ? ' ' : '#', group->is_current ? '>' : ' ');
    write_list(out, &group->numbers);
    if (group->n_workers == 1) {
        fputs(" (", out);
        tg_words_thread(out, input, worker->process, worker->tid);
        fputc(')', out);
    } else
        fprintf(out, " (%zu threads)", group->n_workers);
    if (!worker->alive)
        fputs(is_inside ? " ... (dead), was in" : " ... (dead)", out);
    else if (!is_inside)
        fputs(" outside parallel regions", out);
    fputs(group->is_held ? ", held" : "", out);
    fputs(group->is_alone ? " !" : "", out);
    fputc('\n', out);
    write_places(out, input, group, group->places);
}

static void write_block(FILE *out, const struct tg_verdict_input *input, const struct block *block)
{
    const struct tg_process_entry *entry = tg_process_model_at(input->processes, block->process);
    char name[128];
    tg_printable(tg_process_entry_name(entry), name, sizeof name);
    if (block->n_processes == 1) {
        tg_words_process(out, input, block->process);
        if (entry->rank >= 0)
            fprintf(out, ", %s (pid %" PRId32 ")", name, entry->pid);
    } else if (entry->rank >= 0) {
        fputs("rank", out);
        write_list(out, &block->ranks);
        fprintf(out, ", %s (%zu processes)", name, block->n_processes);
    } else {
        fprintf(out, "%zu processes (%s), pid", block->n_processes, name);
        write_list(out, &block->pids);
    }
    fputc('\n', out);
    for (const struct group *group = block->groups; group != NULL; group = group->hh.next)
        write_group(out, input, group);
}

/* ---- workers that are alike */

static const struct tg_mpi_thread *find_call(const struct tg_mpi_model *mpi,
                                             const struct tg_openmp_worker *worker)
{
    for (size_t i = tg_mpi_model_thread_count(mpi); i-- > 0;) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->process == worker->process && thread->tid == worker->tid)
            return thread->in_call ? thread : NULL;
    }
    return NULL;
}

static struct tg_error *make_group_key(const struct writing *w, struct group *group)
{
    size_t size;
    FILE *out = open_memstream(&group->key, &size);
    if (out == NULL)
        return tg_error_no_memory();
    if (group->is_current || w->is_each)
        fprintf(out, "%zu ", group->worker->index);
    /* How many places follow is said: names from a trace may look like any line. */
    fprintf(out, "%s%s %zu %d\n", group->worker->alive ? "alive" : "dead", group->is_held ? " held" : "",
            group->worker->n_places, group->call != NULL);
    write_places(out, &w->input, group, NULL);
    return fclose(out) == 0 ? NULL : tg_error_no_memory();
}

static struct tg_error *add_to_place(struct shared_place *shared, const struct tg_openmp_place *place)
{
    struct tg_error *error = tg_number_list_add(&shared->teams, place->team);
    if (error == NULL)
        error = tg_number_list_add(&shared->threads, place->thread_num);
    if (error == NULL)
        error = tg_number_list_add(&shared->ids, place->id);
    return error;
}

static void add_time(struct shared_place *shared, bool is_first, uint64_t first_ns, uint64_t last_ns)
{
    if (is_first || first_ns < shared->first_ns)
        shared->first_ns = first_ns;
    if (is_first || last_ns > shared->last_ns)
        shared->last_ns = last_ns;
}

/* Adds the worker of ONE, which is not in GROUP yet. */
static struct tg_error *add_worker(struct group *group, const struct group *one)
{
    const struct tg_openmp_worker *worker = one->worker;
    bool is_first = group->n_workers == 0;
    struct tg_error *error = tg_number_list_add(&group->numbers, worker->number);
    for (size_t i = 0; error == NULL && i < worker->n_places; i++) {
        error = add_to_place(&group->places[i], &worker->places[i]);
        add_time(&group->places[i], is_first, worker->places[i].since_ns, worker->places[i].since_ns);
    }
    if (one->call != NULL)
        add_time(&group->places[worker->n_places], is_first, one->call->call.since_ns,
                 one->call->call.since_ns);
    group->n_workers++;
    return error;
}

static struct tg_error *take_worker(struct writing *w, const struct tg_openmp_worker *worker,
                                    struct block *block)
{
    struct group *made = calloc(1, sizeof *made), *group = NULL;
    if (made == NULL)
        return tg_error_no_memory();
    made->worker = worker;
    made->call = find_call(w->input.mpi, worker);
    made->is_current = worker == w->current;
    made->is_held = tg_worker_marks_is_held(&w->marks, worker);
    made->is_alone = made->is_current && tg_worker_marks_is_alone(&w->marks, w->console, worker);
    struct tg_error *error = make_group_key(w, made);
    if (error == NULL)
        HASH_FIND_STR(block->groups, made->key, group);
    if (error == NULL && group == NULL) {
        made->places = calloc(worker->n_places + 1, sizeof *made->places);
        if (made->places == NULL)
            error = tg_error_no_memory();
        else
            HASH_ADD_KEYPTR(hh, block->groups, made->key, strlen(made->key), made);
        if (error == NULL && made->hh.tbl == NULL)
            error = tg_error_no_memory();
        if (error == NULL) {
            group = made;
            made = NULL;
        }
    }
    if (error == NULL)
        error = add_worker(group, made == NULL ? group : made);
    destroy_group(made);
    return error;
}

/* ---- processes that are alike */

static void sort_group(struct group *group)
{
    tg_number_list_sort(&group->numbers);
    for (size_t i = 0; i < group->worker->n_places; i++) {
        tg_number_list_sort(&group->places[i].teams);
        tg_number_list_sort(&group->places[i].threads);
        tg_number_list_sort(&group->places[i].ids);
    }
}

static struct tg_error *make_block_key(const struct writing *w, struct block *block)
{
    const struct tg_process_entry *entry = tg_process_model_at(w->input.processes, block->process);
    size_t size;
    char name[128];
    FILE *out = open_memstream(&block->key, &size);
    if (out == NULL)
        return tg_error_no_memory();
    fprintf(out, "%s %u %s\n", entry->rank >= 0 ? "rank" : "process", HASH_COUNT(block->groups),
            tg_printable(tg_process_entry_name(entry), name, sizeof name));
    for (struct group *group = block->groups; group != NULL; group = group->hh.next) {
        sort_group(group);
        tg_number_list_print(&group->numbers, 0, out);
        fprintf(out, " %s", group->key);
        for (size_t i = 0; i < group->worker->n_places; i++) {
            fputc(' ', out);
            tg_number_list_print(&group->places[i].threads, 0, out);
        }
    }
    return fclose(out) == 0 ? NULL : tg_error_no_memory();
}

/* Takes over what differs in OTHER's groups, which are the same ones in the same order. */
static struct tg_error *merge_groups(struct block *block, const struct block *other)
{
    struct tg_error *error = NULL;
    const struct group *from = other->groups;
    for (struct group *to = block->groups; error == NULL && to != NULL && from != NULL;
         to = to->hh.next, from = from->hh.next) {
        to->n_workers += from->n_workers;
        for (size_t i = 0; error == NULL && i <= to->worker->n_places; i++) {
            add_time(&to->places[i], false, from->places[i].first_ns, from->places[i].last_ns);
            error = tg_number_list_join(&to->places[i].teams, &from->places[i].teams);
            if (error == NULL)
                error = tg_number_list_join(&to->places[i].ids, &from->places[i].ids);
            tg_number_list_sort(&to->places[i].teams);
            tg_number_list_sort(&to->places[i].ids);
        }
    }
    return error;
}

static struct tg_error *add_process(struct block *block, const struct tg_process_entry *entry)
{
    struct tg_error *error = tg_number_list_add(&block->pids, (uint64_t)entry->pid);
    if (error == NULL && entry->rank >= 0)
        error = tg_number_list_add(&block->ranks, (uint64_t)entry->rank);
    block->n_processes++;
    return error;
}

/* Puts MADE among the blocks, or what it has into one that is like it. Takes MADE over. */
static struct tg_error *take_block(struct writing *w, struct block *made)
{
    const struct tg_process_entry *entry = tg_process_model_at(w->input.processes, made->process);
    struct block *block = NULL;
    struct tg_error *error = make_block_key(w, made);
    if (error == NULL)
        HASH_FIND_STR(w->blocks, made->key, block);
    if (error == NULL && block == NULL) {
        HASH_ADD_KEYPTR(hh, w->blocks, made->key, strlen(made->key), made);
        if (made->hh.tbl == NULL) {
            error = tg_error_no_memory();
        } else {
            block = made;
            made = NULL;
        }
    } else if (error == NULL) {
        error = merge_groups(block, made);
    }
    destroy_block(made);
    return error != NULL ? error : add_process(block, entry);
}

/* The workers of PROCESS, whenever they appeared: [FIRST, behind the last) of ORDER. */
static struct tg_error *take_process(struct writing *w, size_t process, const struct tg_openmp_worker **order,
                                     size_t n)
{
    struct block *made = calloc(1, sizeof *made);
    struct tg_error *error = NULL;
    if (made == NULL)
        return tg_error_no_memory();
    made->process = process;
    for (size_t i = 0; error == NULL && i < n; i++) {
        if (!tg_focus_has_worker(&w->console->focus, order[i]))
            continue;
        error = take_worker(w, order[i], made);
        w->n_workers++;
    }
    if (error != NULL || made->groups == NULL) {
        destroy_block(made);
        return error;
    }
    return take_block(w, made);
}

static int compare_workers(const void *left, const void *right)
{
    const struct tg_openmp_worker *a = *(const struct tg_openmp_worker *const *)left;
    const struct tg_openmp_worker *b = *(const struct tg_openmp_worker *const *)right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static struct tg_error *take_all(struct writing *w)
{
    size_t n = tg_openmp_model_worker_count(w->input.openmp);
    const struct tg_openmp_worker **order = calloc(n + 1, sizeof(const struct tg_openmp_worker *));
    struct tg_error *error = NULL;
    if (order == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n; i++)
        order[i] = tg_openmp_model_worker_at(w->input.openmp, i);
    if (n > 1)
        qsort(order, n, sizeof(const struct tg_openmp_worker *), compare_workers);
    for (size_t first = 0, end; error == NULL && first < n; first = end) {
        for (end = first + 1; end < n && order[end]->process == order[first]->process;)
            end++;
        if (tg_focus_has(&w->console->focus, order[first]->process))
            error = take_process(w, order[first]->process, order + first, end - first);
    }
    free(order);
    return error;
}

struct tg_error *tg_worker_lines_print(const struct tg_console *console, bool is_each, FILE *out,
                                       size_t *n_workers)
{
    struct writing w = {.console = console,
                        .input = tg_console_words(console),
                        .current = tg_focus_worker(&console->focus, console->source),
                        .is_each = is_each};
    struct block *block, *next;
    struct tg_error *error = tg_worker_marks_take(console, &w.marks);
    if (error == NULL)
        error = take_all(&w);
    tg_worker_marks_deinit(&w.marks);
    HASH_ITER (hh, w.blocks, block, next) {
        if (error == NULL)
            write_block(out, &w.input, block);
        HASH_DEL(w.blocks, block);
        destroy_block(block);
    }
    if (error == NULL)
        *n_workers = w.n_workers;
    return error;
}
