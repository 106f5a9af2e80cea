#include "live/commands/motion/deadlock.h"

#include "live/source/moment.h"

#include <stdlib.h>

bool tg_deadlock_waits_for_others(const struct tg_openmp_worker *worker)
{
    if (!worker->alive || worker->n_places == 0)
        return false;
    enum tg_openmp_place_kind kind = worker->places[worker->n_places - 1].kind;
    return kind == TG_OPENMP_IN_MUTEX_WAIT || kind == TG_OPENMP_IN_SYNC;
}

/* Whether thread TID of PROCESS is in a call of MPI. */
static bool is_in_call(const struct tg_deadlock *deadlock, size_t process, int32_t tid)
{
    const struct tg_mpi_model *mpi = deadlock->console->source->moment->mpi;
    for (size_t i = 0; i < tg_mpi_model_thread_count(mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(mpi, i);
        if (thread->process == process && thread->tid == tid)
            return thread->in_call;
    }
    return false;
}

static const struct tg_openmp_worker *worker_of(const struct tg_deadlock *deadlock, size_t process,
                                                int32_t tid)
{
    return tg_openmp_model_worker(deadlock->console->source->moment->openmp, process, tid);
}

bool tg_deadlock_has(const struct tg_deadlock *deadlock, size_t process, int32_t tid)
{
    const struct tg_openmp_worker *worker = worker_of(deadlock, process, tid);
    return (worker != NULL && deadlock->is_stuck[worker->index]) ||
           (deadlock->is_stuck[deadlock->n_workers + process] && is_in_call(deadlock, process, tid));
}

/* The node that EDGE is from; SIZE_MAX: none, or it may go on otherwise, as a worker that tests a lock may give up. */
static size_t node_from(const struct tg_deadlock *deadlock, const struct tg_verdict_edge *edge)
{
    if (edge->from_tid == 0)
        return edge->is_choice && !edge->is_in_ring ? SIZE_MAX : deadlock->n_workers + edge->from;
    const struct tg_openmp_worker *worker = worker_of(deadlock, edge->from, edge->from_tid);
    return worker != NULL && tg_deadlock_waits_for_others(worker) ? worker->index : SIZE_MAX;
}

static bool is_for_stuck(const struct tg_deadlock *deadlock, const struct tg_verdict_edge *edge)
{
    return edge->to_tid == 0 ? deadlock->is_stuck[deadlock->n_workers + edge->to]
                             : tg_deadlock_has(deadlock, edge->to, edge->to_tid);
}

/* Marks in WHO each node that waits for one that is stuck; IN_RING: as part of a ring. How many are new. */
static size_t mark_waiting(const struct tg_deadlock *deadlock, bool in_ring, bool *who)
{
    size_t n_new = 0;
    for (size_t i = 0; i < deadlock->verdict.n_edges; i++) {
        const struct tg_verdict_edge *edge = &deadlock->verdict.edges[i];
        size_t from = in_ring && !edge->is_in_ring ? SIZE_MAX : node_from(deadlock, edge);
        if (from == SIZE_MAX || who[from] || !is_for_stuck(deadlock, edge))
            continue;
        who[from] = true;
        n_new++;
    }
    return n_new;
}

/* All of rings may be stuck, but who waits for one of a ring that is not. */
static struct tg_error *mark_rings(struct tg_deadlock *deadlock)
{
    size_t n_before = 0, n_left = 0;
    for (size_t i = 0; i < deadlock->verdict.n_edges; i++) {
        const struct tg_verdict_edge *edge = &deadlock->verdict.edges[i];
        size_t from = edge->is_in_ring ? node_from(deadlock, edge) : SIZE_MAX;
        if (from == SIZE_MAX || deadlock->is_stuck[from])
            continue;
        deadlock->is_stuck[from] = true;
        n_before++;
    }
    for (bool has_changed = n_before > 0; has_changed; n_before = n_left) {
        bool *are_left = calloc(deadlock->n_nodes + 1, sizeof *are_left);
        if (are_left == NULL)
            return tg_error_no_memory();
        n_left = mark_waiting(deadlock, true, are_left);
        has_changed = n_left != n_before;
        free(deadlock->is_stuck);
        deadlock->is_stuck = are_left;
    }
    return NULL;
}

struct tg_error *tg_deadlock_find(const struct tg_console *console, struct tg_deadlock *deadlock)
{
    const struct tg_verdict_input input = tg_console_words(console);
    size_t n_workers = tg_openmp_model_worker_count(input.openmp);
    *deadlock = (struct tg_deadlock){.console = console,
                                     .n_workers = n_workers,
                                     .n_nodes = n_workers + tg_process_model_count(input.processes)};
    struct tg_error *error = tg_verdict_make(&input, &deadlock->verdict);
    if (error != NULL)
        return error;
    deadlock->is_stuck = calloc(deadlock->n_nodes + 1, sizeof *deadlock->is_stuck);
    if (deadlock->is_stuck == NULL)
        return tg_error_no_memory();
    error = mark_rings(deadlock);
    while (error == NULL && mark_waiting(deadlock, false, deadlock->is_stuck) > 0)
        ; /* then whoever waits for them, and for those */
    return error;
}

void tg_deadlock_deinit(struct tg_deadlock *deadlock)
{
    tg_verdict_deinit(&deadlock->verdict);
    free(deadlock->is_stuck);
    *deadlock = (struct tg_deadlock){0};
}

size_t tg_deadlock_count(const struct tg_deadlock *deadlock)
{
    size_t count = 0;
    for (size_t i = 0; i < deadlock->n_nodes; i++)
        count += deadlock->is_stuck[i];
    return count;
}

static const char *find_text(const struct tg_verdict *verdict, enum tg_finding_kind kind, size_t process)
{
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == kind &&
            (process == SIZE_MAX || verdict->findings[i].process == process))
            return verdict->findings[i].text;
    return NULL;
}

const char *tg_deadlock_text(const struct tg_deadlock *deadlock, size_t process)
{
    const char *text = find_text(&deadlock->verdict, TG_FINDING_DEADLOCK, process);
    return text != NULL ? text : find_text(&deadlock->verdict, TG_FINDING_DEADLOCK, SIZE_MAX);
}

const char *tg_deadlock_mismatch(const struct tg_deadlock *deadlock)
{
    return find_text(&deadlock->verdict, TG_FINDING_MISMATCH, SIZE_MAX);
}

const char *tg_deadlock_wait(const struct tg_deadlock *deadlock, size_t process)
{
    static const enum tg_finding_kind kinds[] = {TG_FINDING_BARRIER, TG_FINDING_LOCK, TG_FINDING_TASK};
    const char *text = NULL;
    for (size_t i = 0; text == NULL && i < sizeof kinds / sizeof kinds[0]; i++)
        text = find_text(&deadlock->verdict, kinds[i], process);
    return text;
}
