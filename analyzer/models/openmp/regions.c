#include "analyzer/models/openmp/regions.h"

struct tg_error *tg_openmp_region_begin(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event)
{
    const struct tg_event_omp_parallel_begin *begin = &event->omp_parallel_begin;
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_seek(&model->teams, worker->public.process, begin->new_team);
    if (team != NULL && team->public.owner != SIZE_MAX) {
        tg_openmp_count_impossible(model, event, "a region begins twice");
        return NULL;
    }
    struct tg_error *error =
        tg_openmp_teams_get(&model->teams, worker->public.process, begin->new_team, event->time_ns, &team);
    if (error != NULL)
        return error;
    team->public.parent = begin->team;
    team->public.level = begin->level + 1;
    team->public.code = begin->code;
    team->public.body = begin->body;
    team->public.begin_ns = event->time_ns;
    team->public.owner = worker->public.index;
    return NULL;
}

/* WORKER waits at the end of TEAM no more, if that is where it is. Whoever met the region is told to go on,
 * of the others some runtimes never say so: their wait is over when the last one has come. */
static struct tg_error *leave_join(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   uint64_t team, uint64_t time_ns)
{
    if (worker->public.n_places == 0)
        return NULL;
    const struct tg_openmp_place *top = &worker->places[worker->public.n_places - 1];
    return tg_openmp_place_is_join(top) && top->team == team ? tg_openmp_leave_top(model, worker, time_ns)
                                                             : NULL;
}

struct tg_error *tg_openmp_region_end(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      const struct tg_event *event)
{
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_seek(&model->teams, worker->public.process, event->omp_parallel_end.ended_team);
    struct tg_error *error = leave_join(model, worker, event->omp_parallel_end.ended_team, event->time_ns);
    if (team == NULL) {
        tg_openmp_count_impossible(model, event, "a region ends without having begun");
        return error;
    }
    team->is_over = true;
    uint64_t last_ns = 0;
    for (size_t i = 0; i < team->public.n_members; i++)
        if (team->members[i].ended && team->members[i].ended_ns > last_ns)
            last_ns = team->members[i].ended_ns;
    for (size_t i = 0; error == NULL && i < team->public.n_members; i++) {
        struct tg_openmp_worker_entry *other = model->workers.items[team->public.members[i].worker];
        /* one that executed a task there was there until the task's end */
        uint64_t left_ns = other->public.last_ns > last_ns && other->public.last_ns <= event->time_ns
                               ? other->public.last_ns
                               : last_ns;
        error = leave_join(model, other, event->omp_parallel_end.ended_team, left_ns);
    }
    tg_openmp_teams_end_if_done(&model->teams, team);
    return error;
}

/* A thread that begins a region has left those that are over: some runtimes never say so. */
static struct tg_error *leave_over(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   uint64_t time_ns)
{
    for (size_t i = 0; i < worker->public.n_places; i++) {
        if (worker->places[i].kind != TG_OPENMP_IN_REGION && !tg_openmp_place_is_join(&worker->places[i]))
            continue;
        struct tg_openmp_team_entry *team =
            tg_openmp_teams_seek(&model->teams, worker->public.process, worker->places[i].team);
        if (team == NULL || !team->is_over)
            continue;
        struct tg_error *error = tg_openmp_leave_down_to(model, worker, i, time_ns);
        struct tg_openmp_member *member =
            tg_openmp_team_find_member(team, worker->public.index, &worker->nth_member);
        if (member != NULL && !member->ended) {
            member->ended = true;
            member->ended_ns = time_ns;
            team->n_ended++;
        }
        tg_openmp_teams_end_if_done(&model->teams, team);
        return error;
    }
    return NULL;
}

struct tg_error *tg_openmp_region_enter(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event)
{
    const struct tg_event_omp_implicit_begin *begin = &event->omp_implicit_begin;
    struct tg_openmp_team_entry *team;
    struct tg_error *error = leave_over(model, worker, event->time_ns);
    if (error == NULL)
        error =
            tg_openmp_teams_get(&model->teams, worker->public.process, begin->team, event->time_ns, &team);
    if (error != NULL)
        return error;
    if (begin->team_size != 0)
        team->public.size = begin->team_size;
    if (team->public.owner == SIZE_MAX) {
        team->public.parent = begin->parent_team;
        team->public.level = begin->level;
    }
    if (tg_openmp_team_find_member(team, worker->public.index, &worker->nth_member) != NULL)
        tg_openmp_count_impossible(model, event, "a thread begins a region it is already in");
    else
        error = tg_openmp_team_add_member(team, worker->public.index, begin->thread_num);
    return error != NULL ? error : tg_openmp_enter(model, worker, event, TG_OPENMP_IN_REGION, 0, begin->team);
}

static size_t find_region(const struct tg_openmp_worker_entry *worker, uint64_t team)
{
    for (size_t i = worker->public.n_places; i-- > 0;)
        if (worker->places[i].kind == TG_OPENMP_IN_REGION && worker->places[i].team == team)
            return i;
    return SIZE_MAX;
}

struct tg_error *tg_openmp_region_leave(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event)
{
    uint64_t id = event->omp_implicit_end.team;
    struct tg_openmp_team_entry *team = tg_openmp_teams_seek(&model->teams, worker->public.process, id);
    struct tg_openmp_member *member =
        tg_openmp_team_find_member(team, worker->public.index, &worker->nth_member);
    size_t at = find_region(worker, id);
    struct tg_error *error = NULL;
    if (at == SIZE_MAX || member == NULL || member->ended) {
        tg_openmp_count_impossible(model, event, "a thread ends a region it is not in");
        return NULL;
    }
    error = tg_openmp_leave_down_to(model, worker, at, event->time_ns);
    member->ended = true;
    member->ended_ns = event->time_ns;
    team->n_ended++;
    if (error == NULL && team->public.owner != SIZE_MAX && !team->is_over) {
        struct tg_openmp_place *join;
        error = tg_openmp_make_place(model, worker, event, &join);
        if (join != NULL) {
            tg_openmp_place_fill(join, event, TG_OPENMP_IN_SYNC, TG_OMP_SYNC_BARRIER_JOIN, id);
            join->code = team->public.code;
            error = tg_openmp_enter_made(model, worker);
        }
    }
    tg_openmp_teams_end_if_done(&model->teams, team);
    return error;
}
