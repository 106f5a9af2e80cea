#include "analyzer/models/openmp/zones.h"

#include "analyzer/models/openmp/iterations.h"

/* No worksharing construct or barrier lies inside of a worksharing construct, so that an inferred one whose
 * end was not seen is over where the next begins. */
static struct tg_error *leave_inferred(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       uint64_t time_ns)
{
    struct tg_error *error = NULL;
    while (error == NULL && worker->public.n_places > 0) {
        const struct tg_openmp_place *top = &worker->places[worker->public.n_places - 1];
        if (top->kind != TG_OPENMP_IN_ZONE || top->seen != TG_OMP_INFERRED)
            break;
        error = tg_openmp_leave_top(model, worker, time_ns);
    }
    return error;
}

static bool is_barrier(uint64_t sync)
{
    return sync == TG_OMP_SYNC_BARRIER || sync == TG_OMP_SYNC_BARRIER_IMPLICIT;
}

struct tg_error *tg_openmp_sync_begin(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      const struct tg_event *event)
{
    const struct tg_event_omp_sync_begin *begin = &event->omp_sync_begin;
    if (begin->sync == TG_OMP_SYNC_BARRIER_JOIN && worker->public.n_places > 0 &&
        tg_openmp_place_is_join(&worker->places[worker->public.n_places - 1]))
        return NULL; /* as the end of the body said already */
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_seek(&model->teams, worker->public.process, begin->team);
    struct tg_openmp_member *member =
        tg_openmp_team_find_member(team, worker->public.index, &worker->nth_member);
    if (member != NULL && is_barrier(begin->sync) &&
        !tg_openmp_team_arrive(team, member, begin, event->time_ns))
        tg_openmp_count_impossible(model, event, "a thread arrives at a barrier it has already passed");
    struct tg_error *error = NULL;
    if (is_barrier(begin->sync))
        error = leave_inferred(model, worker, event->time_ns);
    return error != NULL
               ? error
               : tg_openmp_enter(model, worker, event, TG_OPENMP_IN_SYNC, begin->sync, begin->instance);
}

/* CANCELLER, the index of a worker, did it; SIZE_MAX: somebody did, as shows now. */
static void cancel_team(struct tg_openmp_team_entry *team, size_t canceller, uint64_t time_ns)
{
    if (!team->public.cancelled)
        team->public.cancelled_ns = time_ns;
    if (!team->public.cancelled || team->public.canceller == SIZE_MAX)
        team->public.canceller = canceller;
    team->public.cancelled = true;
}

static void take_cancel(struct tg_openmp_model *model, const struct tg_openmp_worker_entry *worker,
                        const struct tg_event *event)
{
    const struct tg_event_omp_cancel *cancel = &event->omp_cancel;
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_seek(&model->teams, worker->public.process, cancel->team);
    if (team != NULL && cancel->construct == TG_OMP_CANCEL_PARALLEL)
        cancel_team(team, cancel->activated != 0 ? worker->public.index : SIZE_MAX, event->time_ns);
}

struct tg_error *tg_openmp_sync_end(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_sync_end *end = &event->omp_sync_end;
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_seek(&model->teams, worker->public.process, end->team);
    struct tg_openmp_member *member =
        tg_openmp_team_find_member(team, worker->public.index, &worker->nth_member);
    if (member != NULL && is_barrier(end->sync) && end->instance > member->left)
        member->left = end->instance;
    if (member != NULL && end->cancelled != 0)
        cancel_team(team, SIZE_MAX, event->time_ns);
    size_t at =
        tg_openmp_find_place(worker, TG_OPENMP_IN_SYNC, end->sync, is_barrier(end->sync) ? end->instance : 0);
    if (end->sync == TG_OMP_SYNC_BARRIER_JOIN && at == SIZE_MAX)
        return NULL; /* the region's end came first */
    return tg_openmp_leave(model, worker, event, at);
}

static bool is_worksharing(uint64_t zone)
{
    return zone == TG_OMP_ZONE_LOOP || zone == TG_OMP_ZONE_SECTIONS || zone == TG_OMP_ZONE_SINGLE ||
           zone == TG_OMP_ZONE_SINGLE_OTHER || zone == TG_OMP_ZONE_WORKSHARE || zone == TG_OMP_ZONE_SCOPE ||
           zone == TG_OMP_ZONE_ORDERED_LOOP || zone == TG_OMP_ZONE_DOACROSS_LOOP;
}

/* Of the loops all threads of a team meet the same ones; inferred ones are not seen by all, and have no order. */
static bool is_counted_loop(uint64_t zone, uint64_t seen)
{
    return seen != TG_OMP_INFERRED && (zone == TG_OMP_ZONE_LOOP || zone == TG_OMP_ZONE_ORDERED_LOOP ||
                                       zone == TG_OMP_ZONE_DOACROSS_LOOP);
}

/* Loops of inner regions come between those of a team: the team's member counts them. */
static void begin_loop(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker, uint64_t id)
{
    struct tg_openmp_iterations *iterations = &worker->public.iterations;
    struct tg_openmp_team_entry *team = tg_openmp_teams_seek(&model->teams, worker->public.process, id);
    struct tg_openmp_member *member =
        tg_openmp_team_find_member(team, worker->public.index, &worker->nth_member);
    uint64_t loop = member != NULL ? ++member->loops : iterations->team == id ? iterations->loop + 1 : 1;
    tg_openmp_iterations_begin_loop(iterations, id, loop);
}

struct tg_error *tg_openmp_zone_begin(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      const struct tg_event *event)
{
    const struct tg_event_omp_zone_begin *begin = &event->omp_zone_begin;
    struct tg_openmp_place *place;
    struct tg_error *error = NULL;
    /* `if (tid == 3)` looks like `masked filter(3)` to whoever reads the code, and is far more usual */
    if (begin->zone == TG_OMP_ZONE_MASKED && begin->seen == TG_OMP_INFERRED && begin->thread_num != 0)
        return NULL;
    if (is_counted_loop(begin->zone, begin->seen))
        begin_loop(model, worker, begin->team);
    if (is_worksharing(begin->zone))
        error = leave_inferred(model, worker, event->time_ns);
    if (error == NULL)
        error = tg_openmp_make_place(model, worker, event, &place);
    if (error != NULL || place == NULL)
        return error;
    tg_openmp_place_fill(place, event, TG_OPENMP_IN_ZONE, begin->zone, 0);
    place->schedule = begin->schedule;
    return tg_openmp_enter_made(model, worker);
}

/* An inferred end is where it is by guess: it ends nothing but its own zone, if that is still there. */
struct tg_error *tg_openmp_zone_end(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                    const struct tg_event *event)
{
    size_t at = tg_openmp_find_place(worker, TG_OPENMP_IN_ZONE, event->omp_zone_end.zone, 0);
    if (is_counted_loop(event->omp_zone_end.zone, event->omp_zone_end.seen))
        tg_openmp_iterations_end_loop(&worker->public.iterations);
    if (event->omp_zone_end.seen != TG_OMP_INFERRED)
        return tg_openmp_leave(model, worker, event, at);
    return at == SIZE_MAX ? NULL : tg_openmp_leave_only(model, worker, at, event->time_ns);
}

static void begin_section(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                          const struct tg_event *event)
{
    size_t at = tg_openmp_find_place(worker, TG_OPENMP_IN_ZONE, TG_OMP_ZONE_SECTIONS, 0);
    if (at == SIZE_MAX)
        tg_openmp_count_impossible(model, event, "a section outside a sections construct");
    else
        worker->places[at].section = event->omp_section.section;
}

static void take_iteration(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                           const struct tg_event_omp_iteration *event)
{
    tg_openmp_iterations_take(&worker->public.iterations, event);
    if (event->what != TG_OMP_ITERATION_SOURCE)
        return;
    const struct tg_openmp_team_entry *team =
        tg_openmp_teams_seek(&model->teams, worker->public.process, event->team);
    for (size_t i = 0; team != NULL && i < team->public.n_members; i++)
        tg_openmp_iterations_hear(&model->workers.items[team->members[i].worker]->public.iterations,
                                  &worker->public.iterations);
}

struct tg_error *tg_openmp_zones_take(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_SECTION:
        begin_section(model, worker, event);
        return NULL;
    case TG_EVENT_OMP_CHUNK:
        tg_openmp_iterations_give(&worker->public.iterations, &event->omp_chunk);
        return NULL;
    case TG_EVENT_OMP_ITERATION:
        take_iteration(model, worker, &event->omp_iteration);
        return NULL;
    case TG_EVENT_OMP_CANCEL:
        take_cancel(model, worker, event);
        return NULL;
    default:
        return NULL;
    }
}
