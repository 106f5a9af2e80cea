#include "analyzer/where/threads.h"

#include "analyzer/models/mpi/call.h"
#include "analyzer/models/mpi_name.h"
#include "analyzer/models/stack_places.h"
#include "analyzer/where/mpi_names.h"
#include "format/base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process with the rank and job of its parent is a child that a rank started. */
static bool is_rank(const struct tg_process_entry *entry)
{
    return entry->rank >= 0 && (entry->parent == NULL || entry->parent->rank != entry->rank ||
                                strcmp(entry->parent->job, entry->job) != 0);
}

bool tg_where_is_alone(const struct tg_where_threads *threads, size_t index)
{
    const struct tg_process_entry *process = threads->threads[index].process;
    size_t start = index;
    while (start > 0 && threads->threads[start - 1].process == process)
        start--;
    for (size_t i = start; i < threads->count && threads->threads[i].process == process; i++)
        if (i != index && threads->threads[i].path.task == TG_THREAD_OF_PROGRAM)
            return false;
    return true;
}

/* Threads come in nearly the same order in each look: the search begins behind the one found last, *HINT. */
static const struct tg_last_stack *find_before(const struct tg_where_look *before,
                                               const struct tg_last_stack *stack, size_t *hint)
{
    size_t count = tg_stack_model_count(before->stacks);
    for (size_t k = 0; k < count; k++) {
        size_t i = (*hint + k) % count;
        const struct tg_last_stack *other = tg_stack_model_at(before->stacks, i);
        if (other->pid == stack->pid && other->tid == stack->tid) {
            *hint = i + 1;
            return other;
        }
    }
    return NULL;
}

char *tg_where_call_of(const struct tg_where_thread *thread, char *buffer, size_t size)
{
    tg_mpi_name(thread->path.place.inside, buffer, size);
    return buffer;
}

static bool is_inside(const struct tg_where_thread *thread, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(thread->path.place.inside, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

bool tg_where_is_suspended(const struct tg_where_thread *thread)
{
    return thread->is_first && thread->activity != NULL && thread->activity->is_suspended;
}

bool tg_where_waits_in_openmp(const struct tg_where_thread *thread)
{
    static const char *const calls[] = {"GOMP_barrier",   "GOMP_parallel",      "gomp_team_",
                                        "kmpc_barrier",   "kmpc_fork_",         "kmp_",
                                        "GOMP_loop_",     "GOMP_single_",       "GOMP_sections_end",
                                        "GOMP_taskwait",  "kmpc_omp_taskwait",  "libgomp.",
                                        "libomp.",        "libiomp5.",          "GOMP_ordered_start",
                                        "kmpc_ordered",   "GOMP_taskgroup_end", "kmpc_end_taskgroup",
                                        "GOMP_doacross_", "kmpc_doacross_wait", "GOMP_taskloop"};
    return is_inside(thread, calls, sizeof calls / sizeof *calls);
}

bool tg_where_waits_for_openmp_lock(const struct tg_where_thread *thread)
{
    static const char *const calls[] = {"GOMP_critical_",    "GOMP_atomic_start", "omp_set_lock",
                                        "omp_set_nest_lock", "kmpc_critical",     "kmpc_set_",
                                        "kmpc_reduce"};
    return is_inside(thread, calls, sizeof calls / sizeof *calls);
}

static bool is_same_path(const struct tg_call_path *a, const struct tg_call_path *b)
{
    bool is_same = a->count == b->count && a->task == b->task;
    for (size_t i = 0; is_same && i < a->count; i++)
        is_same = strcmp(a->steps[i], b->steps[i]) == 0;
    return is_same;
}

static bool take_first(void *context, const struct tg_stack_call *call)
{
    static const char *const parts[] = {"memcpy", "memmove", "_pack", "unpack"};
    bool *copies = context;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        *copies |= strstr(call->function, parts[i]) != NULL && strstr(call->function, "packet") == NULL;
    return false;
}

/* A large message may be on its way for longer than from one look to the next. */
static bool is_copying(const struct tg_stack_model *stacks, const struct tg_last_stack *stack)
{
    bool copies = false;
    tg_stack_each_call(stacks, stack, take_first, &copies);
    return copies;
}

/* Whether a thread whose place was WAS waited in MPI, and has gone on where that is known by the place where it IS now. What
 * only asks for something comes back in any case, and a callback belongs to the call. */
static void judge_call(const struct tg_stack_place *was, bool is_same, struct tg_where_thread *thread)
{
    char name[64], of[64];
    const struct tg_stack_place *is = &thread->path.place;
    if (tg_mpi_name(was->inside, name, sizeof name)) {
        thread->waited = tg_mpi_name_waits(name);
        tg_mpi_name(is->callback_of, of, sizeof of);
        thread->has_returned = thread->waited && !is_same && strcmp(name, of) != 0;
        if (tg_mpi_call_polls(name))
            snprintf(thread->polled, sizeof thread->polled, "%s", name);
    } else if (tg_mpi_name(was->callback_of, of, sizeof of))
        thread->waited = tg_mpi_name_waits(of);
}

/* Inside of a library a waiting thread may be anywhere; in the program's own code each instruction counts. */
static struct tg_error *judge_move(const struct tg_where_look *before, struct tg_where_thread *thread,
                                   size_t *hint)
{
    struct tg_call_path path;
    const struct tg_last_stack *last = find_before(before, thread->stack, hint);
    if (last == NULL) {
        thread->has_moved = true;
        return NULL;
    }
    struct tg_error *error = tg_call_path_make(before->stacks, last, &path);
    if (error != NULL)
        return error;
    bool is_same = is_same_path(&path, &thread->path);
    judge_call(&path.place, is_same, thread);
    thread->moves_data = is_copying(before->stacks, last);
    thread->has_moved =
        !is_same || (*path.place.inside == '\0' && last->count > 0 && thread->stack->count > 0 &&
                     last->frames[0].pc != thread->stack->frames[0].pc);
    tg_call_path_deinit(&path);
    return NULL;
}

static struct tg_error *add(const struct tg_where_look *look, const struct tg_where_look *before,
                            const struct tg_last_stack *stack, struct tg_where_threads *threads, size_t *hint)
{
    struct tg_where_thread thread = {.stack = stack,
                                     .process = tg_process_model_at(look->processes, stack->process),
                                     .owner = SIZE_MAX,
                                     .is_first = stack->tid == stack->pid};
    char call[64];
    thread.is_rank = is_rank(thread.process);
    struct tg_error *error = tg_call_path_make(look->stacks, stack, &thread.path);
    if (error == NULL && before != NULL)
        error = judge_move(before, &thread, hint);
    if (error == NULL && tg_mpi_call_polls(tg_where_call_of(&thread, call, sizeof call)))
        snprintf(thread.polled, sizeof thread.polled, "%s", call);
    if (error == NULL)
        error = TG_ARRAY_APPEND(threads->threads, threads->count, threads->capacity, thread);
    if (error != NULL)
        tg_call_path_deinit(&thread.path);
    return error;
}

static int compare(const void *a, const void *b)
{
    const struct tg_where_thread *x = a, *y = b;
    if (x->is_rank != y->is_rank)
        return y->is_rank - x->is_rank;
    if (x->process->rank != y->process->rank)
        return x->process->rank < y->process->rank ? -1 : 1;
    if (x->stack->pid != y->stack->pid)
        return x->stack->pid < y->stack->pid ? -1 : 1;
    if (x->is_first != y->is_first) /* ids begin anew: later threads may have smaller ones */
        return y->is_first - x->is_first;
    return (x->stack->tid > y->stack->tid) - (x->stack->tid < y->stack->tid);
}

/* NULL: it has no stack. Threads are asked for process by process: the search begins where the last one, HINT, ended. */
static struct tg_where_thread *find(struct tg_where_threads *threads, int32_t pid, int32_t tid, size_t *hint)
{
    for (size_t k = 0; k < threads->count; k++) {
        size_t i = (*hint + k) % threads->count;
        if (threads->threads[i].stack->pid == pid && threads->threads[i].stack->tid == tid) {
            *hint = i;
            return &threads->threads[i];
        }
    }
    return NULL;
}

/* In whichever process TID is a thread: what is looked at together is of one machine. */
static struct tg_where_thread *find_anywhere(struct tg_where_threads *threads, int32_t tid)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->threads[i].stack->tid == tid)
            return &threads->threads[i];
    return NULL;
}

static bool find_state(const struct tg_where_values *values, int64_t *state)
{
    for (size_t i = 0; values != NULL && i < values->count; i++)
        if (strcmp(values->items[i].name, "state") == 0) {
            *state = values->items[i].value;
            return true;
        }
    return false;
}

static void compare_states(const struct tg_where_look *before, struct tg_where_threads *threads)
{
    size_t hint = 0;
    for (size_t i = 0; before != NULL && i < before->n_values; i++) {
        const struct tg_where_values *values = &before->values[i];
        struct tg_where_thread *thread = find(threads, values->pid, values->tid, &hint);
        int64_t then, now;
        if (thread != NULL && find_state(values, &then) && find_state(thread->values, &now))
            thread->has_same_state = then == now;
    }
}

/* The requests that THREAD had in BEFORE; NULL: none, or they are not known. Threads are asked for in order: the search begins behind the
 * one found last, *HINT. */
static const struct tg_look_requests *find_requests(const struct tg_where_look *before,
                                                    const struct tg_where_thread *thread, size_t *hint)
{
    for (size_t k = 0; k < before->n_requests; k++) {
        size_t i = (*hint + k) % before->n_requests;
        if (before->requests[i].pid == thread->stack->pid && before->requests[i].tid == thread->stack->tid) {
            *hint = i + 1;
            return &before->requests[i];
        }
    }
    return NULL;
}

/* Requests that are known in one of two looks alone are others. */
static void compare_requests(const struct tg_where_look *before, struct tg_where_threads *threads)
{
    size_t hint = 0;
    for (size_t i = 0; before != NULL && i < threads->count; i++) {
        struct tg_where_thread *thread = &threads->threads[i];
        if (!thread->has_same_state) /* so it is in any case */
            continue;
        const struct tg_look_requests *then = find_requests(before, thread, &hint), *now = thread->requests;
        thread->has_same_state = then == now || (then != NULL && now != NULL && then->mark == now->mark);
    }
}

static void add_values(const struct tg_where_look *look, struct tg_where_threads *threads)
{
    size_t hint = 0;
    for (size_t i = 0; i < look->n_values; i++) {
        struct tg_where_thread *thread = find(threads, look->values[i].pid, look->values[i].tid, &hint);
        /* of a callback that calls MPI, they are those of the outer call */
        if (thread != NULL && *thread->path.place.callback_of == '\0')
            thread->values = &look->values[i];
    }
}

struct beginning {
    unsigned n;
    bool locks;
};

static bool find_lock(void *context, const struct tg_stack_call *call)
{
    enum { INNERMOST = 4 };
    struct beginning *beginning = context;
    beginning->locks |= strstr(call->function, "mutex_lock") != NULL;
    return ++beginning->n < INNERMOST;
}

/* Whether what WAIT says is what the calls of THREAD say, too: a mutex without its owner is known by its form alone. */
static bool is_likely(const struct tg_where_look *look, const struct tg_where_wait *wait,
                      const struct tg_where_thread *thread)
{
    struct beginning beginning = {0};
    if (wait->is.what == TG_WAIT_LEFT_MUTEX)
        tg_stack_each_call(look->stacks, thread->stack, find_lock, &beginning);
    return wait->is.what != TG_WAIT_LEFT_MUTEX || beginning.locks;
}

static void add_requests(const struct tg_where_look *look, struct tg_where_threads *threads)
{
    size_t hint = 0;
    for (size_t i = 0; i < look->n_requests; i++) {
        struct tg_where_thread *thread = find(threads, look->requests[i].pid, look->requests[i].tid, &hint);
        if (thread != NULL && *thread->path.place.callback_of == '\0')
            thread->requests = &look->requests[i];
    }
}

static void add_comms(const struct tg_where_look *look, struct tg_where_threads *threads)
{
    size_t hint = 0;
    for (size_t i = 0; i < look->n_comms; i++) {
        struct tg_where_thread *thread = find(threads, look->comms[i].pid, look->comms[i].tid, &hint);
        if (thread != NULL && *thread->path.place.callback_of == '\0')
            thread->comm = &look->comms[i];
    }
}

/* Jobs that a rank has started may have the name of its own, and ranks with the same numbers; threads are in the order of ranks. */
static void find_ambiguous(struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count && threads->threads[i].is_rank; i++) {
        struct tg_where_thread *thread = &threads->threads[i];
        for (size_t k = i + 1; k < threads->count && threads->threads[k].is_rank &&
                               threads->threads[k].process->rank == thread->process->rank;
             k++) {
            struct tg_where_thread *other = &threads->threads[k];
            if (!thread->is_first || !other->is_first ||
                strcmp(thread->process->job, other->process->job) != 0)
                continue;
            thread->is_ambiguous = other->is_ambiguous = true;
        }
    }
}

static void add_waits(const struct tg_where_look *look, struct tg_where_threads *threads)
{
    size_t hint = 0, owner_hint = 0;
    for (size_t i = 0; i < look->n_waits; i++) {
        const struct tg_where_wait *wait = &look->waits[i];
        struct tg_where_thread *thread = find(threads, wait->pid, wait->tid, &hint);
        if (thread == NULL || !is_likely(look, wait, thread))
            continue;
        thread->wait = wait;
        bool is_there = wait->is.owner != 0 && wait->is.what != TG_WAIT_LEFT_MUTEX;
        struct tg_where_thread *owner =
            is_there ? find(threads, wait->pid, wait->is.owner, &owner_hint) : NULL;
        if (owner == NULL && is_there)
            owner = find_anywhere(threads, wait->is.owner);
        thread->owner = owner != NULL ? (size_t)(owner - threads->threads) : SIZE_MAX;
    }
}

/* A thread that did not get a processor may have its message already. */
static bool could_run(const struct tg_look_activity *activity)
{
    static const uint64_t polled_ns = 200000;
    return !activity->is_suspended && (activity->sleeps || activity->ran_ns >= polled_ns);
}

/* Whether what THREAD is in waits by running, so that processor time says nothing. */
static bool may_spin(const struct tg_where_thread *thread)
{
    char call[64];
    return *tg_where_call_of(thread, call, sizeof call) != '\0' || tg_where_waits_in_openmp(thread) ||
           tg_where_waits_for_openmp_lock(thread);
}

/* Threads that are outside of MPI and OpenMP and were asleep in one look at most run; so do those that made the same call with a
 * time limit once more: each of them is interrupted by a look once, and goes on by restart_syscall. */
static void judge_activity(const struct tg_look_activity *then, struct tg_where_thread *thread)
{
    enum { FEW_BYTES = 4096 }; /* what other threads of a process may read and write by the way */
    const struct tg_look_activity *now = thread->activity;
    thread->moves_data |= then->copies || (then->io_bytes != 0 && now->io_bytes > then->io_bytes + FEW_BYTES);
    thread->stayed &= !thread->moves_data;
    if (then->is_suspended || now->is_suspended || may_spin(thread))
        return;
    thread->computes = !then->sleeps && !now->sleeps;
    thread->has_moved |=
        !then->sleeps || !now->sleeps || (then->restarts && now->restarts && !now->is_restart);
}

static void compare_activities(const struct tg_where_look *before, struct tg_where_threads *threads)
{
    size_t hint = 0;
    for (size_t i = 0; before != NULL && i < before->n_activities; i++) {
        const struct tg_look_activity *then = &before->activities[i];
        struct tg_where_thread *thread = find(threads, then->pid, then->tid, &hint);
        if (thread != NULL && thread->activity != NULL)
            judge_activity(then, thread);
    }
}

static void add_activities(const struct tg_where_look *look, struct tg_where_threads *threads)
{
    size_t hint = 0;
    for (size_t i = 0; i < look->n_activities; i++) {
        const struct tg_look_activity *activity = &look->activities[i];
        struct tg_where_thread *thread = find(threads, activity->pid, activity->tid, &hint);
        if (thread == NULL)
            continue;
        thread->activity = activity;
        bool came_back = activity->is_counted && activity->returns > 0;
        thread->has_returned |= came_back && thread->waited;
        thread->moves_data |= activity->copies || is_copying(look->stacks, thread->stack);
        thread->stayed = activity->is_counted && !thread->has_moved && !came_back && could_run(activity) &&
                         !thread->moves_data;
        thread->has_moved |= came_back;
    }
}

static uint64_t time_of(const struct tg_where_look *look)
{
    uint64_t latest_ns = 0;
    for (size_t i = 0; i < tg_stack_model_count(look->stacks); i++)
        if (tg_stack_model_at(look->stacks, i)->time_ns > latest_ns)
            latest_ns = tg_stack_model_at(look->stacks, i)->time_ns;
    return latest_ns;
}

static uint64_t time_between(const struct tg_where_look *before, const struct tg_where_look *look)
{
    uint64_t then_ns = before != NULL ? time_of(before) : 0, now_ns = time_of(look);
    return then_ns != 0 && now_ns > then_ns ? now_ns - then_ns : 0;
}

struct tg_error *tg_where_threads_make(const struct tg_where_look *look, const struct tg_where_look *before,
                                       struct tg_where_threads *threads)
{
    struct tg_error *error = NULL;
    size_t hint = 0;
    *threads = (struct tg_where_threads){.stacks = look->stacks,
                                         .has_two_looks = before != NULL,
                                         .apart_ns = time_between(before, look),
                                         .is_recorded = look->is_recorded,
                                         .n_looks = before != NULL ? 2 : 1,
                                         .uncounted = look->uncounted};
    for (size_t i = 0; error == NULL && i < tg_stack_model_count(look->stacks); i++)
        error = add(look, before, tg_stack_model_at(look->stacks, i), threads, &hint);
    if (threads->count > 0)
        qsort(threads->threads, threads->count, sizeof *threads->threads, compare);
    find_ambiguous(threads);
    add_waits(look, threads);
    add_values(look, threads);
    add_requests(look, threads);
    add_comms(look, threads);
    add_activities(look, threads);
    compare_activities(before, threads);
    compare_states(before, threads);
    compare_requests(before, threads);
    for (size_t i = 0; i < tg_process_model_count(look->processes); i++) {
        const struct tg_process_entry *entry = tg_process_model_at(look->processes, i);
        threads->n_ranks += is_rank(entry);
        if (is_rank(entry) && (entry->world_size == 0 || entry->world_size == entry->size) &&
            entry->size > threads->size)
            threads->size = entry->size;
    }
    return error;
}

void tg_where_threads_join_moves(struct tg_where_threads *threads, const struct tg_where_threads *earlier)
{
    size_t hint = 0;
    for (size_t i = 0; i < earlier->count; i++) {
        const struct tg_where_thread *other = &earlier->threads[i];
        struct tg_where_thread *thread = find(threads, other->stack->pid, other->stack->tid, &hint);
        if (thread == NULL)
            continue;
        thread->has_moved |= other->has_moved;
        thread->has_returned |= other->has_returned;
        thread->computes &= other->computes;
        if (*thread->polled == '\0')
            snprintf(thread->polled, sizeof thread->polled, "%s", other->polled);
        thread->moves_data |= other->moves_data;
        thread->stayed &= !other->has_moved && !other->moves_data;
        thread->has_same_state &= other->has_same_state;
    }
}

void tg_where_threads_deinit(struct tg_where_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        tg_call_path_deinit(&threads->threads[i].path);
    free(threads->threads);
    *threads = (struct tg_where_threads){0};
}
