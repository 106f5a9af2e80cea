#include "analyzer/verdict/openmp/executors.h"

#include "analyzer/models/openmp/iterations.h"

#include <inttypes.h>

/* The place that WORKER waits at, of a loop that it was given iterations of; NULL otherwise. */
static const struct tg_openmp_place *waits_at(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place =
        worker->n_places == 0 ? NULL : &worker->places[worker->n_places - 1];
    bool is_known = place != NULL && worker->iterations.team == place->team && worker->iterations.loop != 0;
    return is_known ? place : NULL;
}

static bool waits_for_sink(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = waits_at(worker);
    return place != NULL && place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_DOACROSS;
}

/* Member I of TEAM, if it was in the loop that WORKER is in; NULL otherwise. */
static const struct tg_openmp_worker *fellow_at(const struct tg_openmp_model *model,
                                                const struct tg_openmp_team *team, size_t i,
                                                const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_worker *fellow = tg_openmp_model_worker_at(model, team->members[i].worker);
    bool is_one = fellow->iterations.team == worker->iterations.team &&
                  fellow->iterations.loop == worker->iterations.loop;
    return is_one ? fellow : NULL;
}

/* Whether WORKER's sink is before the loop's first iteration, and LLVM's runtime does not wait: clang's code asks for such as
 * well, and older agents recorded it. libgomp's would wait for ever. */
static bool is_before_loop(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = waits_at(worker);
    return place != NULL && place->seen == TG_OMP_OMPT &&
           tg_openmp_iterations_is_none(&worker->iterations.sink);
}

struct tg_openmp_executor tg_openmp_executor_of_sink(const struct tg_openmp_model *model,
                                                     const struct tg_openmp_worker *worker)
{
    struct tg_openmp_executor found = {0};
    bool is_wide = false; /* inner loops have such an iteration, by what was seen of them */
    const struct tg_openmp_team *team =
        waits_for_sink(worker) ? tg_openmp_model_team(model, worker->process, worker->iterations.team) : NULL;
    if (team != NULL && (worker->iterations.sink_is_posted || is_before_loop(worker)))
        return (struct tg_openmp_executor){.has_posted = true};
    for (size_t i = 0; team != NULL && i < team->n_members; i++) {
        const struct tg_openmp_worker *fellow = fellow_at(model, team, i, worker);
        if (fellow == NULL)
            continue;
        enum tg_openmp_iteration_state state =
            tg_openmp_iterations_state(&fellow->iterations, waits_for_sink(fellow), &worker->iterations.sink);
        if (state == TG_OPENMP_ITERATION_POSTED)
            return (struct tg_openmp_executor){.has_posted = true};
        is_wide = is_wide || tg_openmp_iterations_are_as_wide(&fellow->iterations, &worker->iterations.sink);
        if (state != TG_OPENMP_ITERATION_OTHERS && !found.has_skipped)
            found = (struct tg_openmp_executor){.worker = fellow,
                                                .has_skipped = state == TG_OPENMP_ITERATION_SKIPPED};
    }
    return found.has_skipped && !is_wide ? (struct tg_openmp_executor){0} : found;
}

static bool waits_for_turn(const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_place *place = waits_at(worker);
    return place != NULL && place->kind == TG_OPENMP_IN_MUTEX_WAIT && place->what == TG_OMP_MUTEX_ORDERED;
}

/* Whether member I of TEAM has come to the loop that WORKER is in, and its iterations there are not known any more: it is, or
 * was, in a loop of an inner region. */
static bool is_lost(const struct tg_openmp_model *model, const struct tg_openmp_team *team, size_t i,
                    const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_member *member = &team->members[i];
    return !member->ended && member->loops == worker->iterations.loop &&
           fellow_at(model, team, i, worker) == NULL;
}

const struct tg_openmp_member *tg_openmp_executor_absent(const struct tg_openmp_model *model,
                                                         const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_worker *first = tg_openmp_executor_before(model, worker);
    if (!worker->iterations.is_given || (first != NULL && !waits_for_turn(first)))
        return NULL;
    const struct tg_openmp_team *team = tg_openmp_model_team(model, worker->process, worker->iterations.team);
    const struct tg_openmp_member *absent = NULL;
    for (size_t i = 0; team != NULL && i < team->n_members; i++) {
        const struct tg_openmp_member *member = &team->members[i];
        bool is_absent = !member->ended && member->loops < worker->iterations.loop;
        if (is_lost(model, team, i, worker) || (is_absent && absent != NULL))
            return NULL;
        absent = is_absent ? member : absent;
    }
    return team != NULL && team->n_members >= team->size ? absent : NULL;
}

const struct tg_openmp_worker *tg_openmp_executor_before(const struct tg_openmp_model *model,
                                                         const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_worker *first = NULL;
    bool has_lost = false;
    const struct tg_openmp_team *team =
        waits_at(worker) == NULL ? NULL
                                 : tg_openmp_model_team(model, worker->process, worker->iterations.team);
    for (size_t i = 0; team != NULL && worker->iterations.is_given && i < team->n_members; i++) {
        const struct tg_openmp_worker *fellow = fellow_at(model, team, i, worker);
        has_lost |= is_lost(model, team, i, worker);
        if (fellow == NULL || !fellow->iterations.is_given || fellow->iterations.is_over)
            continue;
        if (fellow->iterations.chunk.first < (first == NULL ? worker : first)->iterations.chunk.first)
            first = fellow;
    }
    return has_lost && first != NULL && waits_for_turn(first) ? NULL
                                                              : first; /* FIRST waits for the lost one */
}

uint64_t tg_openmp_executor_source(const struct tg_openmp_model *model, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_team *team = tg_openmp_model_team(model, worker->process, worker->iterations.team);
    for (size_t i = 0; team != NULL && i < team->n_members; i++) {
        const struct tg_openmp_worker *fellow = fellow_at(model, team, i, worker);
        if (fellow != NULL && fellow->iterations.source_code != 0)
            return fellow->iterations.source_code;
    }
    return 0;
}

void tg_openmp_executor_print_sink(FILE *stream, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_indices *sink = &worker->iterations.sink;
    fputs(sink->count > 1 ? "iteration (" : "iteration ", stream);
    for (size_t i = 0; i < sink->count; i++)
        fprintf(stream, "%s%" PRId64, i > 0 ? ", " : "", sink->at[i]);
    fputs(sink->count > 1 ? ")" : "", stream);
}

void tg_openmp_executor_print_chunk(FILE *stream, const struct tg_openmp_worker *worker)
{
    const struct tg_openmp_chunk *chunk = &worker->iterations.chunk;
    if (chunk->first == chunk->last)
        fprintf(stream, "iteration %" PRIu64, chunk->first);
    else
        fprintf(stream, "iterations %" PRIu64 " to %" PRIu64, chunk->first, chunk->last);
}
