/* The end of a diagram: who waits for whom, and in a cycle. */
#include "analyzer/models/mpi/matching.h"
#include "analyzer/sequence/families.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_WAITS_DRAWN = 32,      /* lifelines: of more, only waits in a cycle are arrows */
    MAX_COLLECTIVES_OF = 1024, /* lifelines: of more, cycles through collectives are not looked for */
};

/* ---- one waits for another */

/* Lane of the thread inside of the mutex that WAIT is for; NO_LANE unknown. */
static uint32_t find_owner(const struct tg_sequence_builder *builder, const struct tg_sequence_node *wait)
{
    for (uint32_t lane = 0; lane < builder->made->n_lanes; lane++) {
        const struct sequence_worker *worker = builder->workers[lane];
        for (size_t i = 0; i < worker->n_frames; i++) {
            const struct tg_sequence_node *node = worker->frames[i].node;
            if (node != NULL && node != wait && node->kind == TG_SEQUENCE_MUTEX && node->what == wait->what &&
                node->id == wait->id && node->parts[0].begin_ns != 0)
                return lane;
        }
    }
    return TG_SEQUENCE_NO_LANE;
}

static const struct tg_mpi_thread *find_thread(const struct tg_sequence_builder *builder,
                                               const struct sequence_worker *worker, int32_t tid)
{
    for (size_t i = 0; i < tg_mpi_model_thread_count(builder->mpi); i++) {
        const struct tg_mpi_thread *thread = tg_mpi_model_thread_at(builder->mpi, i);
        if (thread->process == worker->process && thread->tid == tid)
            return thread->in_call ? thread : NULL;
    }
    return NULL;
}

/* Of COUNT halves the one of THREAD's call, or of REQUEST where it waits for that; NULL. */
static const struct tg_mpi_half *find_half(const struct tg_mpi_half *halves, size_t count,
                                           const struct tg_mpi_thread *thread, uint64_t request)
{
    for (size_t i = 0; i < count; i++) {
        const struct tg_mpi_message *message = &halves[i].message;
        bool is_it = request != 0 ? message->request == request
                                  : message->tid == thread->tid && message->request == 0 &&
                                        (message->id == 0 || message->id == thread->sent_id);
        if (is_it && message->process == thread->process)
            return &halves[i];
    }
    return NULL;
}

/* The lane whose half is lacking for the message, or the first of the requests, that THREAD waits for; *MAY_END: the
 * half is there. */
static uint32_t find_partner(const struct tg_sequence_builder *builder,
                             const struct tg_mpi_matching *matching, const struct sequence_worker *worker,
                             const struct tg_mpi_thread *thread, bool *may_end)
{
    size_t count = thread->n_requests == 0 ? 1 : thread->n_requests;
    uint32_t found = TG_SEQUENCE_NO_LANE;
    *may_end = true;
    for (size_t i = 0; i < count && *may_end; i++) {
        uint64_t request = thread->n_requests == 0 ? 0 : thread->requests[i];
        const struct tg_mpi_half *half = find_half(matching->receives, matching->n_receives, thread, request);
        if (half == NULL)
            half = find_half(matching->sends, matching->n_sends, thread, request);
        if (half == NULL)
            continue;
        int64_t peer = half->message.id != 0 ? half->message.destination : half->message.source;
        found =
            peer < 0 ? TG_SEQUENCE_NO_LANE : sequence_lane_of_rank(builder, worker, half->message.comm, peer);
        *may_end = half->may_match;
    }
    return found;
}

/* *MAY_END: what is awaited may be there, or it is not known whether it is. */
static uint32_t find_awaited(const struct tg_sequence_builder *builder,
                             const struct tg_mpi_matching *matching, const struct sequence_worker *worker,
                             bool *may_end)
{
    const struct sequence_frame *frame = worker->n_frames == 0 ? NULL : &worker->frames[worker->n_frames - 1];
    const struct tg_sequence_node *node = frame == NULL ? NULL : frame->node;
    *may_end = false;
    if (node == NULL)
        return TG_SEQUENCE_NO_LANE;
    if (node->kind == TG_SEQUENCE_MUTEX && node->parts[0].begin_ns == 0 && node->what != TG_OMP_MUTEX_ORDERED)
        return find_owner(builder, node);
    if (node->kind != TG_SEQUENCE_CALL || !builder->options.by_rank)
        return TG_SEQUENCE_NO_LANE;
    enum tg_mpi_role role = tg_mpi_call_role(node->name, NULL, NULL);
    const struct tg_mpi_thread *thread = find_thread(builder, worker, frame->tid);
    if (thread == NULL)
        return TG_SEQUENCE_NO_LANE;
    if (role == TG_MPI_COMPLETION)
        return thread->n_requests == 0 || (thread->n_requests > 1 && strcmp(node->name, "MPI_Waitall") != 0)
                   ? TG_SEQUENCE_NO_LANE /* any may do */
                   : find_partner(builder, matching, worker, thread, may_end);
    if (node->peer < 0 || (role != TG_MPI_SEND && role != TG_MPI_RECEIVE && role != TG_MPI_PROBE))
        return TG_SEQUENCE_NO_LANE;
    find_partner(builder, matching, worker, thread, may_end);
    return sequence_lane_of_rank(builder, worker, node->team, node->peer);
}

/* ---- one waits for all who have not come */

/* Whether OTHER is missing in the collective that WORKER is in. */
static bool is_missing(const struct sequence_worker *worker, const struct sequence_worker *other)
{
    if (other->job != worker->job || other == worker || other->is_replaced)
        return false;
    uint64_t phase = tg_sequence_team_phase(worker->job, worker->lane);
    uint64_t of_other = tg_sequence_team_phase(other->job, other->lane);
    return of_other < phase || (of_other == phase && other->collective == 0);
}

/* The first of those whom WORKER's collective lacks that is STUCK, one who waits for a message before one who waits in another
 * collective. */
static uint32_t find_lacking(const struct tg_sequence_builder *builder, const struct sequence_worker *worker,
                             const bool *stuck)
{
    uint32_t found = TG_SEQUENCE_NO_LANE;
    for (uint32_t lane = 0; lane < builder->made->n_lanes; lane++) {
        const struct sequence_worker *other = builder->workers[lane];
        if (!stuck[lane] || !is_missing(worker, other))
            continue;
        if (other->collective == 0)
            return lane;
        if (found == TG_SEQUENCE_NO_LANE)
            found = lane;
    }
    return found;
}

/* A thread in a collective waits for one that waits, too, where there is such a one: a thread that is not STUCK can go
 * on, and so can, in the end, any that waits for such alone. */
static void find_collectives(const struct tg_sequence_builder *builder, const bool *may_end)
{
    size_t count = builder->made->n_lanes;
    bool *stuck = count > MAX_COLLECTIVES_OF ? NULL : calloc(count + 1, sizeof *stuck);
    if (stuck == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        stuck[i] = (builder->workers[i]->waits_for != TG_SEQUENCE_NO_LANE && !may_end[i]) ||
                   builder->workers[i]->collective != 0;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (size_t i = 0; i < count; i++) {
            struct sequence_worker *worker = builder->workers[i];
            if (!stuck[i])
                continue;
            uint32_t to = worker->collective != 0 ? find_lacking(builder, worker, stuck) : worker->waits_for;
            if (worker->collective != 0)
                worker->waits_for = to;
            if (to != TG_SEQUENCE_NO_LANE && stuck[to])
                continue;
            stuck[i] = false;
            goes_on = true;
        }
    }
    free(stuck);
}

/* ---- cycles */

/* Whether a walk along the waits that cannot end comes back to lane I. */
static bool is_in_cycle(const struct tg_sequence_builder *builder, const bool *may_end, size_t i)
{
    uint32_t at = (uint32_t)i;
    for (size_t steps = 0; steps < builder->made->n_lanes && !may_end[at]; steps++) {
        at = builder->workers[at]->waits_for;
        if (at == TG_SEQUENCE_NO_LANE || at == i)
            return at == i;
    }
    return false;
}

struct tg_error *sequence_find_waits(const struct tg_sequence_builder *builder)
{
    size_t count = builder->made->n_lanes;
    struct tg_mpi_matching matching = {0};
    bool *may_end = calloc(count + 1, sizeof *may_end);
    struct tg_error *error = may_end == NULL ? tg_error_no_memory() : NULL;
    if (error == NULL && builder->options.by_rank)
        error = tg_mpi_matching_make(builder->mpi, &matching);
    for (size_t i = 0; error == NULL && i < count; i++)
        builder->workers[i]->waits_for = find_awaited(builder, &matching, builder->workers[i], &may_end[i]);
    if (error == NULL && builder->options.by_rank)
        find_collectives(builder, may_end);
    for (size_t i = 0; error == NULL && i < count; i++)
        builder->workers[i]->is_in_cycle = is_in_cycle(builder, may_end, i);
    for (size_t i = 0; error == NULL && i < count; i++)
        if (!builder->workers[i]->is_in_cycle &&
            (count > MAX_WAITS_DRAWN || builder->workers[i]->collective != 0))
            builder->workers[i]->waits_for = TG_SEQUENCE_NO_LANE;
    tg_mpi_matching_deinit(&matching);
    free(may_end);
    return error;
}
