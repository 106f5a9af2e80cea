#include "analyzer/finding/work.h"

#include "analyzer/finding/polling.h"
#include "analyzer/models/stack_places.h"

#include <stdlib.h>
#include <string.h>

/* A stack that is older than this, before the moment that is judged, does not say where a thread is. */
static const uint64_t stale_ns = UINT64_C(1000000000);

/* Thread TID of PROCESS is number INDEX of its model. */
struct key {
    size_t process;
    int32_t tid;
    size_t index;
};

/* Threads that the models of MPI and OpenMP know, in the order of their fields. */
struct search {
    const struct tg_verdict_input *input;
    enum tg_work *work;
    struct key *callers, *workers;
    size_t n_callers, n_workers;
};

/* ---- threads by their numbers */

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The last of N KEYS that is thread TID of PROCESS, where a number was used again; NULL none. */
static const struct key *find_key(const struct key *keys, size_t n, size_t process, int32_t tid)
{
    const struct key behind = {process, tid, SIZE_MAX};
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_keys(&keys[middle], &behind) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && keys[low - 1].process == process && keys[low - 1].tid == tid ? &keys[low - 1] : NULL;
}

/* The worker that thread TID of PROCESS is; NULL: OpenMP does not know it. */
static const struct tg_openmp_worker *worker_of(const struct search *search, size_t process, int32_t tid)
{
    const struct key *key = find_key(search->workers, search->n_workers, process, tid);
    return key == NULL ? NULL : tg_openmp_model_worker_at(search->input->openmp, key->index);
}

static bool is_caller(const struct search *search, size_t process, int32_t tid)
{
    return find_key(search->callers, search->n_callers, process, tid) != NULL;
}

static struct tg_error *begin_search(struct search *search)
{
    size_t n_callers = tg_mpi_model_thread_count(search->input->mpi),
           n_workers = tg_openmp_model_worker_count(search->input->openmp);
    search->callers = calloc(n_callers + 1, sizeof *search->callers);
    search->workers = calloc(n_workers + 1, sizeof *search->workers);
    if (search->callers == NULL || search->workers == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < n_callers; i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(search->input->mpi, i);
        search->callers[search->n_callers++] = (struct key){thread->process, thread->tid, i};
    }
    for (size_t i = 0; i < n_workers; i++) {
        const struct tg_openmp_worker *worker = tg_openmp_model_worker_at(search->input->openmp, i);
        search->workers[search->n_workers++] = (struct key){worker->process, worker->tid, i};
    }
    qsort(search->callers, n_callers, sizeof *search->callers, compare_keys);
    qsort(search->workers, n_workers, sizeof *search->workers, compare_keys);
    return NULL;
}

/* ---- where threads are */

static const struct tg_last_stack *stack_of(const struct tg_verdict_input *input, size_t process, int32_t tid)
{
    return input->stacks == NULL ? NULL : tg_stack_model_find(input->stacks, process, tid);
}

/* Whether STACK is in a call that waits until another thread or process does something. Who sleeps, or waits for at most some
 * time, goes on by itself. */
static bool is_seen_waiting(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    static const char *const names[] = {"pthread_join",
                                        "pthread_cond_wait",
                                        "pthread_barrier_",
                                        "pthread_mutex_lock",
                                        "pthread_rwlock_r",
                                        "pthread_rwlock_w",
                                        "sem_wait",
                                        "futex",
                                        "pause",
                                        "sigwait",
                                        "sigsuspend",
                                        "epoll_"};
    const struct tg_stack_place place = tg_stack_place_find(input->stacks, stack);
    const char *inside = place.is_known ? place.inside : place.at.function;
    while (*inside == '_')
        inside++;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(inside, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Whether STACK has nothing but runtimes on it: it is of a thread that a library made for itself, or waits in a pool. In an
 * interpreter whose frames cannot be read a thread that computes looks the same. */
static bool is_in_runtimes(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    for (size_t i = 0; i < stack->count; i++)
        if (strstr(stack->frames[i].module, "python") != NULL)
            return false;
    return stack->count > 0 && stack->end == TG_STACK_WHOLE &&
           !tg_stack_place_find(input->stacks, stack).is_known;
}

/* Whether WORKER is in a region, and waits there for other threads of its team. */
static bool waits_in_region(const struct tg_openmp_worker *worker)
{
    enum tg_openmp_place_kind kind =
        worker->n_places == 0 ? TG_OPENMP_IN_REGION : worker->places[worker->n_places - 1].kind;
    return kind == TG_OPENMP_IN_SYNC || kind == TG_OPENMP_IN_MUTEX_WAIT;
}

/* ---- threads that called MPI */

static bool has_ended(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread)
{
    return thread->ended_ns != 0 && thread->ended_ns < tg_polling_moment(input, thread->process);
}

/* Whether THREAD, which is in no call, waits all the same: by polls, in OpenMP, or by its last stack, if it was taken since
 * its last call: a worker in its runtime's pool has nothing of the program there. */
static bool is_waiting(const struct search *search, const struct tg_mpi_thread *thread)
{
    const struct tg_verdict_input *input = search->input;
    const struct tg_openmp_worker *worker = worker_of(search, thread->process, thread->tid);
    const struct tg_last_stack *stack = stack_of(input, thread->process, thread->tid);
    if (stack != NULL && (stack->count == 0 || stack->time_ns < thread->left_ns))
        stack = NULL;
    if (tg_polling_is(input, thread) || (worker != NULL && waits_in_region(worker)))
        return true;
    if (stack == NULL)
        return false;
    return is_seen_waiting(input, stack) || is_in_runtimes(input, stack);
}

static void add(const struct search *search, size_t process, bool goes_on)
{
    if (search->work[process] != TG_WORK_GOES_ON)
        search->work[process] = goes_on ? TG_WORK_GOES_ON : TG_WORK_POSSIBLE;
}

/* Adds those of processes that have several of them. */
static struct tg_error *add_callers(const struct search *search)
{
    const struct tg_verdict_input *input = search->input;
    size_t n_processes = tg_process_model_count(input->processes);
    unsigned char *callers = calloc(n_processes + 1, sizeof *callers);
    if (callers == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < search->n_callers; i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process < n_processes && !has_ended(input, thread) && callers[thread->process] < 2)
            callers[thread->process]++;
    }
    for (size_t i = 0; i < search->n_callers; i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(input->mpi, i);
        if (thread->process < n_processes && !has_ended(input, thread) && callers[thread->process] >= 2)
            add(search, thread->process, !thread->in_call && !is_waiting(search, thread));
    }
    free(callers);
    return NULL;
}

/* ---- threads that did not */

/* Whether threads of PROCESS may call MPI that have not yet. */
static bool may_any_call(const struct tg_verdict_input *input, size_t process)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(input->mpi, process);
    return mpi != NULL && !mpi->finalized && process < tg_process_model_count(input->processes) &&
           mpi->thread_level != TG_MPI_THREAD_SINGLE && mpi->thread_level != TG_MPI_THREAD_FUNNELED;
}

/* Adds a thread of PROCESS that may call MPI by its level. Where that is not known, who waits counts for nothing. */
static void add_other(const struct search *search, size_t process, bool goes_on)
{
    const struct tg_mpi_process *mpi = tg_mpi_model_process(search->input->mpi, process);
    if (goes_on || mpi->thread_level != TG_MPI_THREAD_UNKNOWN)
        add(search, process, goes_on);
}

static bool is_stale(const struct tg_verdict_input *input, const struct tg_last_stack *stack)
{
    return stack->time_ns + stale_ns < tg_polling_moment(input, stack->process);
}

static void add_by_stack(const struct search *search, const struct tg_last_stack *stack)
{
    if (!may_any_call(search->input, stack->process) || is_caller(search, stack->process, stack->tid) ||
        is_in_runtimes(search->input, stack))
        return;
    const struct tg_openmp_worker *worker = worker_of(search, stack->process, stack->tid);
    bool waits = is_seen_waiting(search->input, stack) || (worker != NULL && waits_in_region(worker));
    add_other(search, stack->process, !waits && !is_stale(search->input, stack));
}

/* A worker without a stack that is in a region. */
static void add_by_region(const struct search *search, const struct tg_openmp_worker *worker)
{
    if (worker->alive && worker->n_places > 0 && may_any_call(search->input, worker->process) &&
        !is_caller(search, worker->process, worker->tid) &&
        stack_of(search->input, worker->process, worker->tid) == NULL)
        add_other(search, worker->process, !waits_in_region(worker));
}

/* ---- all together */

struct tg_error *tg_work_find(const struct tg_verdict_input *input, enum tg_work *work)
{
    struct search search = {.input = input, .work = work};
    struct tg_error *error = begin_search(&search);
    if (error == NULL)
        error = add_callers(&search);
    size_t n_stacks = input->stacks == NULL ? 0 : tg_stack_model_count(input->stacks);
    for (size_t i = 0; error == NULL && i < n_stacks; i++)
        add_by_stack(&search, tg_stack_model_at(input->stacks, i));
    for (size_t i = 0; error == NULL && i < search.n_workers; i++)
        add_by_region(&search, tg_openmp_model_worker_at(input->openmp, i));
    free(search.callers);
    free(search.workers);
    return error;
}
