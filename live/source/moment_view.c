#include "live/source/moment_view.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Processes of a control group that run the same program. */
struct share {
    char *key; /* number of that group and path of the program */
    uint32_t number;
    UT_hash_handle hh;
};

/* The control group of the ranks that were started in another one; 0: by nobody of the trace. */
struct ranks_group {
    uint32_t launcher, control;
};

struct filling {
    const struct tg_moment *moment;
    struct tg_job_view *view;
    uint32_t *control; /* group by process */
    struct ranks_group *ranks;
    size_t n_ranks, ranks_capacity;
    size_t *of_rank; /* process that stands for a rank, by process: SIZE_MAX another one does */
    const struct tg_openmp_worker **workers; /* by process, then by number */
    size_t n_workers, at_worker;
    struct share *shares;
    uint32_t next_group;
};

/* ---- groups */

static struct tg_error *find_share(struct filling *filling, uint32_t control, const char *program,
                                   uint32_t *number)
{
    struct share *share = NULL;
    char *key = NULL;
    if (asprintf(&key, "%" PRIu32 " %s", control, program) < 0)
        return tg_error_no_memory();
    HASH_FIND_STR(filling->shares, key, share);
    if (share != NULL) {
        free(key);
        *number = share->number;
        return NULL;
    }
    share = calloc(1, sizeof *share);
    struct tg_error *error =
        share == NULL ? tg_error_no_memory() : TG_HASH_ADD_KEY(hh, filling->shares, key, strlen(key), share);
    if (error != NULL) {
        free(share);
        free(key);
        return error;
    }
    share->key = key;
    share->number = *number = filling->next_group++;
    return NULL;
}

static bool is_of_ranks(const struct filling *filling, uint32_t control)
{
    for (size_t i = 0; i < filling->n_ranks; i++)
        if (filling->ranks[i].control == control)
            return true;
    return false;
}

/* Ranks are apart from what has started them, as in a live session (analyzer/job/model.h). */
static struct tg_error *find_ranks(struct filling *filling, uint32_t launcher, uint32_t *control)
{
    for (size_t i = 0; i < filling->n_ranks; i++) {
        if (filling->ranks[i].launcher == launcher) {
            *control = filling->ranks[i].control;
            return NULL;
        }
    }
    *control = filling->next_group;
    filling->next_group += 2;
    return TG_ARRAY_APPEND(filling->ranks, filling->n_ranks, filling->ranks_capacity,
                           ((struct ranks_group){launcher, *control}));
}

/* A process is in its parent's control group; numbers of a group and of its workers follow each other. */
static struct tg_error *find_control(struct filling *filling, const struct tg_process_entry *entry,
                                     uint32_t *control)
{
    struct tg_error *error = NULL;
    bool is_rank = filling->of_rank[entry->index] != SIZE_MAX;
    *control = 0;
    if (entry->parent != NULL && entry->parent->index < entry->index) {
        *control = filling->control[entry->parent->index];
        if (is_rank && !is_of_ranks(filling, *control))
            error = find_ranks(filling, *control, control);
    } else if (is_rank) {
        error = find_ranks(filling, 0, control);
    } else {
        *control = filling->next_group;
        filling->next_group += 2;
    }
    filling->control[entry->index] = *control;
    return error;
}

/* ---- ranks */

/* How much speaks for a process being what its rank is: what calls MPI, else what has OpenMP workers. */
static int weight_of(const struct filling *filling, size_t process, bool has_workers)
{
    return tg_mpi_model_process(filling->moment->mpi, process) != NULL ? 2 : has_workers;
}

struct candidate {
    int64_t rank;
    int weight;
    size_t process;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

/* A rank's launcher and wrappers have its number too: one process stands for it. */
static struct tg_error *choose_ranks(struct filling *filling)
{
    const struct tg_process_model *model = filling->moment->processes;
    size_t count = tg_process_model_count(model), n = 0;
    struct candidate *candidates = calloc(count + 1, sizeof *candidates);
    bool *has_workers = calloc(count + 1, sizeof *has_workers);
    if (candidates == NULL || has_workers == NULL) {
        free(candidates);
        free(has_workers);
        return tg_error_no_memory();
    }
    for (size_t i = 0; i < filling->n_workers; i++)
        has_workers[filling->workers[i]->process] = true;
    for (size_t i = 0; i < count; i++) {
        int64_t rank = tg_process_model_at(model, i)->rank;
        filling->of_rank[i] = SIZE_MAX;
        if (rank >= 0)
            candidates[n++] = (struct candidate){rank, weight_of(filling, i, has_workers[i]), i};
    }
    if (n > 1)
        qsort(candidates, n, sizeof *candidates, compare_candidates);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || candidates[i].rank != candidates[i - 1].rank)
            filling->of_rank[candidates[i].process] = candidates[i].process;
    free(candidates);
    free(has_workers);
    return NULL;
}

/* ---- processes and threads */

static int compare_workers(const void *left, const void *right)
{
    const struct tg_openmp_worker *a = *(const struct tg_openmp_worker *const *)left;
    const struct tg_openmp_worker *b = *(const struct tg_openmp_worker *const *)right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->index > b->index ? -1 : a->index < b->index; /* of a number that is used again the latest */
}

static struct tg_error *sort_workers(struct filling *filling)
{
    const struct tg_openmp_model *model = filling->moment->openmp;
    filling->n_workers = tg_openmp_model_worker_count(model);
    filling->workers = calloc(filling->n_workers + 1, sizeof(const struct tg_openmp_worker *));
    if (filling->workers == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < filling->n_workers; i++)
        filling->workers[i] = tg_openmp_model_worker_at(model, i);
    if (filling->n_workers > 1)
        qsort(filling->workers, filling->n_workers, sizeof(const struct tg_openmp_worker *), compare_workers);
    return NULL;
}

static uint64_t code_of(const struct tg_openmp_worker *worker)
{
    uint64_t code = worker->n_places > 0 ? worker->places[worker->n_places - 1].code : 0;
    return code != 0 ? code : worker->last_code;
}

static struct tg_error *add_threads(struct filling *filling, const struct tg_process_entry *entry)
{
    bool lives = entry->end == TG_PROCESS_RUNNING;
    struct tg_error *error = NULL;
    uint64_t former = 0;
    while (error == NULL && filling->at_worker < filling->n_workers &&
           filling->workers[filling->at_worker]->process == entry->index) {
        const struct tg_openmp_worker *worker = filling->workers[filling->at_worker++];
        if (worker->number == former || worker->number == 0 || worker->number > UINT32_MAX)
            continue;
        former = worker->number;
        const struct tg_job_thread thread = {.dtid = (uint32_t)worker->number,
                                             .state =
                                                 lives && worker->alive ? TG_JOB_STOPPED : TG_JOB_NONEXISTENT,
                                             .pc = code_of(worker),
                                             .tag = worker->index};
        error = tg_job_view_add_thread(filling->view, &thread);
    }
    if (error != NULL || former != 0)
        return error;
    const struct tg_job_thread only = {
        .dtid = 1, .state = lives ? TG_JOB_STOPPED : TG_JOB_NONEXISTENT, .tag = UINT64_MAX};
    return tg_job_view_add_thread(filling->view, &only);
}

static struct tg_error *add_process(struct filling *filling, const struct tg_process_entry *entry)
{
    uint32_t control = 0;
    struct tg_error *error = find_control(filling, entry, &control);
    if (error != NULL)
        return error;
    struct tg_job_process_info info = {.dpid = (uint32_t)entry->index + 1,
                                       .rank = filling->of_rank[entry->index] == SIZE_MAX ? -1 : entry->rank,
                                       .control_group = control,
                                       .workers_group = control + 1,
                                       .exists = entry->end == TG_PROCESS_RUNNING,
                                       .tag = entry->index};
    error = find_share(filling, control, entry->program, &info.share_group);
    if (error == NULL)
        error = tg_job_view_add_process(filling->view, &info);
    return error != NULL ? error : add_threads(filling, entry);
}

/* ---- the numbers of a live session win */

/* Whether thread DTID of process DPID, or with DTID 0 that process, was held by live control. */
static bool was_held(const struct filling *filling, uint32_t dpid, uint32_t dtid)
{
    return tg_run_model_holds(tg_barrier_trace_model(filling->moment->barriers),
                              (struct tg_thread_id){dpid, dtid});
}

static struct tg_error *add_numbered_threads(struct filling *filling, const struct tg_process_entry *entry,
                                             const struct tg_numbered_thread *threads, size_t count)
{
    bool lives = entry->end == TG_PROCESS_RUNNING;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < count; i++) {
        const struct tg_openmp_worker *worker =
            tg_openmp_model_worker(filling->moment->openmp, entry->index, threads[i].tid);
        const struct tg_job_thread thread = {.dtid = threads[i].dtid,
                                             .state = lives && !threads[i].has_ended ? TG_JOB_STOPPED
                                                                                     : TG_JOB_NONEXISTENT,
                                             .is_manager = threads[i].is_manager,
                                             .held = was_held(filling, threads[i].dpid, threads[i].dtid),
                                             .pc = worker == NULL ? 0 : code_of(worker),
                                             .tag = worker == NULL ? UINT64_MAX : worker->index};
        error = tg_job_view_add_thread(filling->view, &thread);
    }
    return error;
}

static struct tg_error *add_numbered_process(struct filling *filling,
                                             const struct tg_numbered_process *numbered)
{
    const struct tg_process_entry *entry = tg_process_model_at(filling->moment->processes, numbered->process);
    const struct tg_job_process_info info = {.dpid = numbered->dpid,
                                             .rank = filling->of_rank[entry->index] == SIZE_MAX ? -1
                                                                                                : entry->rank,
                                             .control_group = numbered->control_group,
                                             .share_group = numbered->share_group,
                                             .workers_group = numbered->workers_group,
                                             .exists = entry->end == TG_PROCESS_RUNNING,
                                             .held = was_held(filling, numbered->dpid, 0),
                                             .tag = entry->index};
    return tg_job_view_add_process(filling->view, &info);
}

static struct tg_error *add_numbered(struct filling *filling)
{
    struct tg_numbered_process *processes = NULL;
    struct tg_numbered_thread *threads = NULL;
    size_t n_processes = 0, n_threads = 0, at = 0;
    struct tg_error *error =
        tg_control_numbers_list(filling->moment->numbers, &processes, &n_processes, &threads, &n_threads);
    for (size_t i = 0; error == NULL && i < n_processes; i++) {
        while (at < n_threads && threads[at].dpid < processes[i].dpid)
            at++;
        size_t end = at;
        while (end < n_threads && threads[end].dpid == processes[i].dpid)
            end++;
        error = add_numbered_process(filling, &processes[i]);
        if (error == NULL)
            error = add_numbered_threads(
                filling, tg_process_model_at(filling->moment->processes, processes[i].process), threads + at,
                end - at);
        at = end;
    }
    free(processes);
    free(threads);
    return error;
}

struct tg_error *tg_moment_view(const struct tg_moment *moment, struct tg_job_view *view)
{
    size_t count = tg_process_model_count(moment->processes);
    struct filling filling = {.moment = moment, .view = view, .next_group = 1};
    filling.control = calloc(count + 1, sizeof *filling.control);
    filling.of_rank = calloc(count + 1, sizeof *filling.of_rank);
    struct tg_error *error =
        filling.control == NULL || filling.of_rank == NULL ? tg_error_no_memory() : sort_workers(&filling);
    if (error == NULL)
        error = choose_ranks(&filling);
    bool is_numbered = moment->numbers != NULL && tg_control_numbers_count(moment->numbers) > 0;
    if (error == NULL && is_numbered)
        error = add_numbered(&filling);
    for (size_t i = 0; error == NULL && !is_numbered && i < count; i++)
        error = add_process(&filling, tg_process_model_at(moment->processes, i));
    struct share *share, *next;
    HASH_ITER (hh, filling.shares, share, next) {
        HASH_DEL(filling.shares, share);
        free(share->key);
        free(share);
    }
    free(filling.ranks);
    free(filling.workers);
    free(filling.of_rank);
    free(filling.control);
    return error;
}
