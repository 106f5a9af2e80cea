#include "analyzer/models/openmp/model.h"

#include "analyzer/models/openmp/locks.h"
#include "analyzer/models/openmp/tasks.h"
#include "analyzer/models/openmp/teams.h"
#include "analyzer/models/openmp/workers.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct tg_openmp_model {
    struct tg_openmp_model_options options;
    struct tg_openmp_workers workers;
    struct tg_openmp_teams teams;
    struct tg_openmp_tasks tasks;
    struct tg_openmp_locks locks;
    bool is_suspending; /* what is left is left for a while */
    uint64_t impossible;
    uint64_t impossible_ns;
    const char *impossible_what;
    struct tg_wait_times waits;
};

/* ---- life */

struct tg_error *tg_openmp_model_create(const struct tg_openmp_model_options *options,
                                        struct tg_openmp_model **model)
{
    struct tg_openmp_model *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    if (options != NULL)
        made->options = *options;
    *model = made;
    return NULL;
}

void tg_openmp_model_destroy(struct tg_openmp_model *model)
{
    if (model == NULL)
        return;
    tg_openmp_tasks_deinit(&model->tasks);
    tg_openmp_locks_deinit(&model->locks);
    tg_openmp_teams_deinit(&model->teams);
    tg_openmp_workers_deinit(&model->workers);
    free(model);
}

/* ---- what cannot be */

static void count_impossible(struct tg_openmp_model *model, const struct tg_event *event, const char *what)
{
    if (model->impossible++ > 0)
        return;
    model->impossible_ns = event->time_ns;
    model->impossible_what = what;
}

uint64_t tg_openmp_model_impossible(const struct tg_openmp_model *model, uint64_t *first_ns,
                                    const char **first)
{
    *first_ns = model->impossible_ns;
    *first = model->impossible_what;
    return model->impossible;
}

struct tg_wait_times tg_openmp_model_waits(const struct tg_openmp_model *model)
{
    return model->waits;
}

/* ---- workers */

static struct tg_error *enter(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                              const struct tg_event *event, const struct tg_openmp_place *place)
{
    if (worker->public.n_places == TG_OPENMP_MAX_PLACES) {
        count_impossible(model, event, "zones are nested too deeply");
        return NULL;
    }
    if (model->options.entered != NULL) {
        struct tg_error *error = model->options.entered(model->options.context, &worker->public, place);
        if (error != NULL)
            return error;
    }
    return tg_openmp_worker_push(worker, place);
}

/* Threads that have left a region stay at its end until the next one, which says nothing of the job. */
static void count_wait(struct tg_openmp_model *model, const struct tg_openmp_place *place, uint64_t time_ns)
{
    bool is_idle = place->what == TG_OMP_SYNC_BARRIER_JOIN && place->thread_num != 0;
    if (place->kind == TG_OPENMP_IN_MUTEX_WAIT || (place->kind == TG_OPENMP_IN_SYNC && !is_idle))
        tg_wait_times_add(&model->waits, place->since_ns, time_ns);
}

/* Leaves the innermost place. */
static struct tg_error *leave_top(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                  uint64_t time_ns)
{
    struct tg_openmp_place place = worker->places[--worker->public.n_places];
    count_wait(model, &place, time_ns);
    if (model->options.left == NULL)
        return NULL;
    place.is_suspended = model->is_suspending;
    return model->options.left(model->options.context, &worker->public, &place, time_ns);
}

/* Index of the innermost place that is like PATTERN: kind, what, and id unless 0; SIZE_MAX where there is
 * none within the innermost region. */
static size_t find_place(const struct tg_openmp_worker_entry *worker, const struct tg_openmp_place *pattern)
{
    for (size_t i = worker->public.n_places; i-- > 0;) {
        const struct tg_openmp_place *place = &worker->places[i];
        if (place->kind == pattern->kind && place->what == pattern->what &&
            (pattern->id == 0 || place->id == pattern->id))
            return i;
        if (place->kind == TG_OPENMP_IN_REGION)
            break;
    }
    return SIZE_MAX;
}

/* Takes the place at index AT out, from wherever it is. */
static struct tg_error *leave_only(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   size_t at, uint64_t time_ns)
{
    struct tg_openmp_place place = worker->places[at];
    worker->public.n_places--;
    memmove(&worker->places[at], &worker->places[at + 1],
            (worker->public.n_places - at) * sizeof *worker->places);
    count_wait(model, &place, time_ns);
    if (model->options.left == NULL)
        return NULL;
    place.is_suspended = model->is_suspending;
    return model->options.left(model->options.context, &worker->public, &place, time_ns);
}

/* A lock stays with whoever has it, whatever that leaves; everything else is left with what it lies in. */
static bool is_kept(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_MUTEX &&
           (place->what == TG_OMP_MUTEX_LOCK || place->what == TG_OMP_MUTEX_NEST_LOCK);
}

/* Leaves what is above the outermost N_PLACES. */
static struct tg_error *leave_down_to(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      size_t n_places, uint64_t time_ns)
{
    struct tg_error *error = NULL;
    for (size_t i = worker->public.n_places; error == NULL && i-- > n_places;)
        if (model->is_suspending || !is_kept(&worker->places[i]))
            error = leave_only(model, worker, i, time_ns);
    return error;
}

/* Leaves the place, and all places inside of it that were not left before: a zone's end may go unseen. */
static struct tg_error *leave(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                              const struct tg_event *event, const struct tg_openmp_place *pattern)
{
    size_t at = find_place(worker, pattern);
    if (at == SIZE_MAX) {
        count_impossible(model, event, "a thread leaves a zone it has not entered");
        return NULL;
    }
    return leave_down_to(model, worker, at, event->time_ns);
}

/* ---- copies */

struct tg_error *tg_openmp_model_copy(const struct tg_openmp_model *model, struct tg_openmp_model **copy)
{
    struct tg_openmp_model *made = NULL;
    struct tg_error *error = tg_openmp_model_create(NULL, &made);
    if (error == NULL)
        error = tg_openmp_workers_copy(&model->workers, &made->workers);
    if (error == NULL)
        error = tg_openmp_teams_copy(&model->teams, &made->teams);
    if (error == NULL)
        error = tg_openmp_tasks_copy(&model->tasks, &made->tasks);
    if (error == NULL)
        error = tg_openmp_locks_copy(&model->locks, &made->locks);
    if (error != NULL) {
        tg_openmp_model_destroy(made);
        return error;
    }
    made->impossible = model->impossible;
    made->impossible_ns = model->impossible_ns;
    made->impossible_what = model->impossible_what;
    made->waits = model->waits;
    *copy = made;
    return NULL;
}

/* ---- events */

static struct tg_openmp_place place_of(const struct tg_event *event, enum tg_openmp_place_kind kind,
                                       uint64_t what, uint64_t id)
{
    const struct tg_omp_place *place = (const struct tg_omp_place *)TG_EVENT_PAYLOAD(event);
    return (struct tg_openmp_place){
        .kind = kind,
        .what = what,
        .team = place->team,
        .thread_num = place->thread_num,
        .level = place->level,
        .id = id,
        .code = place->code,
        .seen = place->seen,
        .since_ns = event->time_ns,
    };
}

static struct tg_error *begin_parallel(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_parallel_begin *begin = &event->omp_parallel_begin;
    struct tg_openmp_team_entry *team = tg_openmp_teams_find(&model->teams, process, begin->new_team);
    if (team != NULL && team->public.owner != SIZE_MAX) {
        count_impossible(model, event, "a region begins twice");
        return NULL;
    }
    struct tg_error *error =
        tg_openmp_teams_get(&model->teams, process, begin->new_team, event->time_ns, &team);
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
static bool is_join(const struct tg_openmp_place *place)
{
    return place->kind == TG_OPENMP_IN_SYNC && place->what == TG_OMP_SYNC_BARRIER_JOIN;
}

static struct tg_error *leave_join(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   uint64_t team, uint64_t time_ns)
{
    if (worker->public.n_places == 0)
        return NULL;
    const struct tg_openmp_place *top = &worker->places[worker->public.n_places - 1];
    return is_join(top) && top->team == team ? leave_top(model, worker, time_ns) : NULL;
}

static struct tg_error *end_parallel(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                     const struct tg_event *event, size_t process)
{
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_find(&model->teams, process, event->omp_parallel_end.ended_team);
    struct tg_error *error = leave_join(model, worker, event->omp_parallel_end.ended_team, event->time_ns);
    if (team == NULL) {
        count_impossible(model, event, "a region ends without having begun");
        return error;
    }
    team->is_over = true;
    uint64_t last_ns = 0;
    for (size_t i = 0; i < team->public.n_members; i++)
        if (team->members[i].ended && team->members[i].ended_ns > last_ns)
            last_ns = team->members[i].ended_ns;
    for (size_t i = 0; error == NULL && i < team->public.n_members; i++)
        error = leave_join(model, model->workers.items[team->public.members[i].worker],
                           event->omp_parallel_end.ended_team, last_ns);
    tg_openmp_teams_end_if_done(&model->teams, team);
    return error;
}

/* A thread that begins a region has left those that are over: some runtimes never say so. */
static struct tg_error *leave_over(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   uint64_t time_ns)
{
    for (size_t i = 0; i < worker->public.n_places; i++) {
        if (worker->places[i].kind != TG_OPENMP_IN_REGION && !is_join(&worker->places[i]))
            continue;
        struct tg_openmp_team_entry *team =
            tg_openmp_teams_find(&model->teams, worker->public.process, worker->places[i].team);
        if (team == NULL || !team->is_over)
            continue;
        struct tg_error *error = leave_down_to(model, worker, i, time_ns);
        struct tg_openmp_member *member = tg_openmp_team_find_member(team, worker->public.index);
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

static struct tg_error *begin_implicit(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_implicit_begin *begin = &event->omp_implicit_begin;
    struct tg_openmp_team_entry *team;
    struct tg_error *error = leave_over(model, worker, event->time_ns);
    if (error == NULL)
        error = tg_openmp_teams_get(&model->teams, process, begin->team, event->time_ns, &team);
    if (error != NULL)
        return error;
    if (begin->team_size != 0)
        team->public.size = begin->team_size;
    if (team->public.owner == SIZE_MAX) {
        team->public.parent = begin->parent_team;
        team->public.level = begin->level;
    }
    if (tg_openmp_team_find_member(team, worker->public.index) != NULL)
        count_impossible(model, event, "a thread begins a region it is already in");
    else
        error = tg_openmp_team_add_member(team, worker->public.index, begin->thread_num);
    const struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_REGION, 0, begin->team);
    return error != NULL ? error : enter(model, worker, event, &place);
}

static size_t find_region(const struct tg_openmp_worker_entry *worker, uint64_t team)
{
    for (size_t i = worker->public.n_places; i-- > 0;)
        if (worker->places[i].kind == TG_OPENMP_IN_REGION && worker->places[i].team == team)
            return i;
    return SIZE_MAX;
}

static struct tg_error *end_implicit(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                     const struct tg_event *event, size_t process)
{
    uint64_t id = event->omp_implicit_end.team;
    struct tg_openmp_team_entry *team = tg_openmp_teams_find(&model->teams, process, id);
    struct tg_openmp_member *member = tg_openmp_team_find_member(team, worker->public.index);
    size_t at = find_region(worker, id);
    struct tg_error *error = NULL;
    if (at == SIZE_MAX || member == NULL || member->ended) {
        count_impossible(model, event, "a thread ends a region it is not in");
        return NULL;
    }
    error = leave_down_to(model, worker, at, event->time_ns);
    member->ended = true;
    member->ended_ns = event->time_ns;
    team->n_ended++;
    if (error == NULL && team->public.owner != SIZE_MAX && !team->is_over) {
        struct tg_openmp_place join = place_of(event, TG_OPENMP_IN_SYNC, TG_OMP_SYNC_BARRIER_JOIN, id);
        join.code = team->public.code;
        error = enter(model, worker, event, &join);
    }
    tg_openmp_teams_end_if_done(&model->teams, team);
    return error;
}

/* ---- zones, some of them inferred */

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
        error = leave_top(model, worker, time_ns);
    }
    return error;
}

static bool is_barrier(uint64_t sync)
{
    return sync == TG_OMP_SYNC_BARRIER || sync == TG_OMP_SYNC_BARRIER_IMPLICIT;
}

static struct tg_error *begin_sync(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_sync_begin *begin = &event->omp_sync_begin;
    if (begin->sync == TG_OMP_SYNC_BARRIER_JOIN && worker->public.n_places > 0 &&
        is_join(&worker->places[worker->public.n_places - 1]))
        return NULL; /* as the end of the body said already */
    struct tg_openmp_team_entry *team = tg_openmp_teams_find(&model->teams, process, begin->team);
    struct tg_openmp_member *member = tg_openmp_team_find_member(team, worker->public.index);
    if (member != NULL && is_barrier(begin->sync) &&
        !tg_openmp_team_arrive(team, member, begin, event->time_ns))
        count_impossible(model, event, "a thread arrives at a barrier it has already passed");
    const struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_SYNC, begin->sync, begin->instance);
    struct tg_error *error = NULL;
    if (is_barrier(begin->sync))
        error = leave_inferred(model, worker, event->time_ns);
    return error != NULL ? error : enter(model, worker, event, &place);
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
        tg_openmp_teams_find(&model->teams, worker->public.process, cancel->team);
    if (team != NULL && cancel->construct == TG_OMP_CANCEL_PARALLEL)
        cancel_team(team, cancel->activated != 0 ? worker->public.index : SIZE_MAX, event->time_ns);
}

static struct tg_error *end_sync(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                 const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_sync_end *end = &event->omp_sync_end;
    struct tg_openmp_team_entry *team = tg_openmp_teams_find(&model->teams, process, end->team);
    struct tg_openmp_member *member = tg_openmp_team_find_member(team, worker->public.index);
    if (member != NULL && is_barrier(end->sync) && end->instance > member->left)
        member->left = end->instance;
    if (member != NULL && end->cancelled != 0)
        cancel_team(team, SIZE_MAX, event->time_ns);
    const struct tg_openmp_place pattern = {
        .kind = TG_OPENMP_IN_SYNC, .what = end->sync, .id = is_barrier(end->sync) ? end->instance : 0};
    if (end->sync == TG_OMP_SYNC_BARRIER_JOIN && find_place(worker, &pattern) == SIZE_MAX)
        return NULL; /* the region's end came first */
    return leave(model, worker, event, &pattern);
}

/* Whether one thread at a time is inside, and no more often than once. */
static bool is_exclusive(uint64_t mutex)
{
    return mutex != TG_OMP_MUTEX_ORDERED && mutex != TG_OMP_MUTEX_NEST_LOCK;
}

static size_t find_lock(const struct tg_openmp_worker_entry *worker, uint64_t mutex, uint64_t lock)
{
    for (size_t i = worker->public.n_places; i-- > 0;) {
        const struct tg_openmp_place *place = &worker->places[i];
        if (place->kind == TG_OPENMP_IN_MUTEX && place->what == mutex && place->id == lock)
            return i;
    }
    return SIZE_MAX;
}

/* WORKER is inside of what another one was inside of: that one has left it, which was not told, or is told
 * later. */
static struct tg_error *take_over(struct tg_openmp_model *model, const struct tg_openmp_worker_entry *worker,
                                  const struct tg_event *event)
{
    const struct tg_event_omp_mutex_enter *got = &event->omp_mutex_enter;
    size_t former;
    if (!is_exclusive(got->mutex))
        return NULL;
    struct tg_error *error = tg_openmp_locks_enter(&model->locks, worker->public.process, got->mutex,
                                                   got->lock, worker->public.index, &former);
    if (error != NULL || former == SIZE_MAX || former == worker->public.index)
        return error;
    struct tg_openmp_worker_entry *holder = model->workers.items[former];
    size_t at = find_lock(holder, got->mutex, got->lock);
    if (at == SIZE_MAX)
        return NULL;
    holder->late_leaves++;
    return leave_only(model, holder, at, event->time_ns);
}

static struct tg_error *enter_mutex(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_mutex_enter *got = &event->omp_mutex_enter;
    const struct tg_openmp_place waited = {
        .kind = TG_OPENMP_IN_MUTEX_WAIT, .what = got->mutex, .id = got->lock};
    size_t at = find_place(worker, &waited);
    struct tg_error *error = NULL;
    if (at != SIZE_MAX) /* a lock that was free may be got without waiting */
        error = leave_down_to(model, worker, at, event->time_ns);
    if (error == NULL)
        error = take_over(model, worker, event);
    const struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_MUTEX, got->mutex, got->lock);
    return error != NULL ? error : enter(model, worker, event, &place);
}

/* Locks need not be given back in the order in which they were taken. */
static struct tg_error *leave_mutex(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_mutex_leave *gone = &event->omp_mutex_leave;
    size_t at = find_lock(worker, gone->mutex, gone->lock);
    if (is_exclusive(gone->mutex))
        tg_openmp_locks_leave(&model->locks, worker->public.process, gone->mutex, gone->lock,
                              worker->public.index);
    if (at != SIZE_MAX)
        return leave_only(model, worker, at, event->time_ns);
    if (worker->late_leaves > 0)
        worker->late_leaves--;
    else
        count_impossible(model, event, "a thread releases a lock it does not hold");
    return NULL;
}

static bool is_worksharing(uint64_t zone)
{
    return zone == TG_OMP_ZONE_LOOP || zone == TG_OMP_ZONE_SECTIONS || zone == TG_OMP_ZONE_SINGLE ||
           zone == TG_OMP_ZONE_SINGLE_OTHER || zone == TG_OMP_ZONE_WORKSHARE || zone == TG_OMP_ZONE_SCOPE ||
           zone == TG_OMP_ZONE_ORDERED_LOOP || zone == TG_OMP_ZONE_DOACROSS_LOOP;
}

static struct tg_error *begin_zone(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   const struct tg_event *event)
{
    struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_ZONE, event->omp_zone_begin.zone, 0);
    place.schedule = event->omp_zone_begin.schedule;
    struct tg_error *error = NULL;
    /* `if (tid == 3)` looks like `masked filter(3)` to whoever reads the code, and is far more usual */
    if (place.what == TG_OMP_ZONE_MASKED && place.seen == TG_OMP_INFERRED && place.thread_num != 0)
        return NULL;
    if (is_worksharing(place.what))
        error = leave_inferred(model, worker, event->time_ns);
    return error != NULL ? error : enter(model, worker, event, &place);
}

/* An inferred end is where it is by guess: it ends nothing but its own zone, if that is still there. */
static struct tg_error *end_zone(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                 const struct tg_event *event)
{
    const struct tg_openmp_place pattern = {.kind = TG_OPENMP_IN_ZONE, .what = event->omp_zone_end.zone};
    if (event->omp_zone_end.seen != TG_OMP_INFERRED)
        return leave(model, worker, event, &pattern);
    size_t at = find_place(worker, &pattern);
    return at == SIZE_MAX ? NULL : leave_only(model, worker, at, event->time_ns);
}

static void begin_section(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                          const struct tg_event *event)
{
    const struct tg_openmp_place pattern = {.kind = TG_OPENMP_IN_ZONE, .what = TG_OMP_ZONE_SECTIONS};
    size_t at = find_place(worker, &pattern);
    if (at == SIZE_MAX)
        count_impossible(model, event, "a section outside a sections construct");
    else
        worker->places[at].section = event->omp_section.section;
}

/* ---- tasks */

static struct tg_error *create_task(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_task_create *create = &event->omp_task_create;
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_find(&model->teams, worker->public.process, create->team);
    struct tg_openmp_task_entry *task;
    if (team != NULL)
        team->public.tasks_made++;
    /* another one of the same number: the end of the first was lost */
    tg_openmp_tasks_drop(&model->tasks,
                         tg_openmp_tasks_find(&model->tasks, worker->public.process, create->task));
    struct tg_error *error = tg_openmp_tasks_get(&model->tasks, worker->public.process, create->task, &task);
    if (error != NULL || task == NULL)
        return error;
    task->public.parent = create->parent_task;
    task->public.team = create->team;
    task->public.creator = worker->public.index;
    task->public.code = create->code;
    task->public.body = create->body;
    task->public.flags = create->flags;
    task->public.since_ns = event->time_ns;
    return tg_openmp_task_depend(task, &create->dependences);
}

/* A task that goes on is inside of what it was in when it was suspended, from now on. */
static struct tg_error *begin_task(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                   const struct tg_event *event)
{
    struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_TASK, 0, event->omp_task_begin.task);
    struct tg_openmp_task_entry *task;
    struct tg_error *error = tg_openmp_tasks_get(&model->tasks, worker->public.process, place.id, &task);
    if (error != NULL)
        return error;
    bool goes_on = event->omp_task_begin.resumed != 0 && task != NULL && task->n_places > 0;
    if (task != NULL) {
        task->public.state = TG_OPENMP_TASK_RUNNING;
        task->public.since_ns = event->time_ns;
        task->public.runner = worker->public.index;
        if (place.code == 0)
            place.code = task->public.code;
    }
    if (!goes_on)
        error = enter(model, worker, event, &place);
    for (size_t i = 0; error == NULL && goes_on && i < task->n_places; i++) {
        task->places[i].since_ns = event->time_ns;
        error = enter(model, worker, event, &task->places[i]);
    }
    return error != NULL || task == NULL ? error : tg_openmp_task_put(task, NULL, 0);
}

/* Keeps what the task at index AT of WORKER is inside of, itself first, until it goes on. */
static struct tg_error *suspend_task(struct tg_openmp_task_entry *task,
                                     const struct tg_openmp_worker_entry *worker, size_t at, uint64_t time_ns)
{
    struct tg_error *error = tg_openmp_task_put(task, &worker->places[at], worker->public.n_places - at);
    for (size_t i = 0; error == NULL && i < task->n_places; i++) {
        struct tg_openmp_place *place = &task->places[i];
        place->before_ns += time_ns > place->since_ns ? time_ns - place->since_ns : 0;
        place->is_continued = true;
    }
    return error;
}

/* An event may be fulfilled by anybody, from outside of the team as well. */
static struct tg_openmp_team_entry *team_of_detached(struct tg_openmp_model *model, size_t process)
{
    for (struct tg_openmp_team_entry *team = model->teams.entries; team != NULL; team = team->hh.next)
        if (team->key.process == process && team->public.tasks_detached > 0)
            return team;
    return NULL;
}

/* Counts the finished tasks of a team. */
static void count_task(struct tg_openmp_model *model, const struct tg_event *event, size_t process)
{
    const struct tg_event_omp_task_end *end = &event->omp_task_end;
    bool is_fulfilled = end->how == TG_OMP_TASK_FULFILLED;
    struct tg_openmp_team_entry *team = is_fulfilled
                                            ? team_of_detached(model, process)
                                            : tg_openmp_teams_find(&model->teams, process, end->team);
    if (team == NULL || end->how == TG_OMP_TASK_SUSPENDED)
        return;
    if (end->how == TG_OMP_TASK_DETACHED)
        team->public.tasks_detached++;
    else
        team->public.tasks_ended++;
    if (is_fulfilled)
        team->public.tasks_detached--;
}

/* What becomes of the task that ends by EVENT. */
static struct tg_error *change_task(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                    const struct tg_event *event, size_t at)
{
    const struct tg_event_omp_task_end *end = &event->omp_task_end;
    struct tg_openmp_task_entry *task =
        tg_openmp_tasks_find(&model->tasks, worker->public.process, end->task);
    if (task == NULL)
        return NULL;
    task->public.since_ns = event->time_ns;
    if (end->how == TG_OMP_TASK_DETACHED) {
        task->public.state = TG_OPENMP_TASK_DETACHED;
    } else if (end->how == TG_OMP_TASK_SUSPENDED) {
        task->public.state = TG_OPENMP_TASK_SUSPENDED;
        return at == SIZE_MAX ? NULL : suspend_task(task, worker, at, event->time_ns);
    } else {
        tg_openmp_tasks_drop(&model->tasks, task);
    }
    return NULL;
}

static struct tg_error *end_task(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                 const struct tg_event *event)
{
    const struct tg_event_omp_task_end *end = &event->omp_task_end;
    const struct tg_openmp_place place = place_of(event, TG_OPENMP_IN_TASK, 0, end->task);
    size_t at = find_place(worker, &place);
    count_task(model, event, worker->public.process);
    struct tg_error *error = change_task(model, worker, event, at);
    if (error != NULL || end->how == TG_OMP_TASK_FULFILLED)
        return error; /* by whoever fulfils its event: nobody leaves anything */
    model->is_suspending = end->how == TG_OMP_TASK_SUSPENDED;
    error = leave(model, worker, event, &place);
    model->is_suspending = false;
    return error;
}

static struct tg_error *take_zone_event(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event)
{
    struct tg_openmp_place place;
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_ZONE_BEGIN:
        return begin_zone(model, worker, event);
    case TG_EVENT_OMP_ZONE_END:
        return end_zone(model, worker, event);
    case TG_EVENT_OMP_SECTION:
        begin_section(model, worker, event);
        return NULL;
    case TG_EVENT_OMP_MUTEX_WAIT:
        place =
            place_of(event, TG_OPENMP_IN_MUTEX_WAIT, event->omp_mutex_wait.mutex, event->omp_mutex_wait.lock);
        return enter(model, worker, event, &place);
    case TG_EVENT_OMP_MUTEX_ENTER:
        return enter_mutex(model, worker, event);
    case TG_EVENT_OMP_MUTEX_LEAVE:
        return leave_mutex(model, worker, event);
    case TG_EVENT_OMP_TASK_BEGIN:
        return begin_task(model, worker, event);
    case TG_EVENT_OMP_TASK_END:
        return end_task(model, worker, event);
    case TG_EVENT_OMP_CANCEL:
        take_cancel(model, worker, event);
        return NULL;
    default:
        return NULL;
    }
}

static struct tg_error *take_openmp_event(struct tg_openmp_model *model, const struct tg_event *event,
                                          size_t process)
{
    struct tg_openmp_worker_entry *worker;
    struct tg_error *error =
        tg_openmp_workers_get(&model->workers, process, event->tid, event->time_ns, &worker);
    if (error != NULL)
        return error;
    const struct tg_omp_place *at = (const struct tg_omp_place *)TG_EVENT_PAYLOAD(event);
    uint64_t code = at->code;
    worker->public.last_ns = event->time_ns;
    worker->public.last_kind = event->kind;
    if (code != 0)
        worker->public.last_code = code;
    switch ((unsigned)event->kind) {
    case TG_EVENT_OMP_PARALLEL_BEGIN:
        return begin_parallel(model, worker, event, process);
    case TG_EVENT_OMP_PARALLEL_END:
        return end_parallel(model, worker, event, process);
    case TG_EVENT_OMP_IMPLICIT_BEGIN:
        return begin_implicit(model, worker, event, process);
    case TG_EVENT_OMP_IMPLICIT_END:
        return end_implicit(model, worker, event, process);
    case TG_EVENT_OMP_SYNC_BEGIN:
        return begin_sync(model, worker, event, process);
    case TG_EVENT_OMP_SYNC_END:
        return end_sync(model, worker, event, process);
    case TG_EVENT_OMP_TASK_CREATE:
        return create_task(model, worker, event);
    default:
        return take_zone_event(model, worker, event);
    }
}

/* The program of PROCESS is no more: its workers are dead, and, where another one takes its place, its teams
 * are gone with its memory. */
static void end_program(struct tg_openmp_model *model, size_t process, bool replaced, uint64_t time_ns)
{
    tg_openmp_workers_kill_process(&model->workers, process, time_ns);
    if (!replaced)
        return;
    tg_openmp_teams_drop_process(&model->teams, process);
    tg_openmp_tasks_drop_process(&model->tasks, process);
    tg_openmp_locks_drop_process(&model->locks, process);
    tg_openmp_workers_number_anew(&model->workers, process);
}

struct tg_error *tg_openmp_model_feed(struct tg_openmp_model *model, const struct tg_event *event,
                                      size_t process)
{
    struct tg_openmp_worker_entry *worker;
    switch ((unsigned)event->kind) {
    case TG_EVENT_THREAD_EXIT:
        worker = tg_openmp_workers_find(&model->workers, process, event->tid);
        if (worker == NULL)
            return NULL;
        tg_openmp_workers_kill(&model->workers, worker, event->time_ns);
        worker->public.exit_status = event->thread_exit.status;
        return NULL;
    case TG_EVENT_PROCESS_EXIT:
        end_program(model, process, false, event->time_ns);
        return NULL;
    case TG_EVENT_EXEC:
        end_program(model, process, true, event->time_ns);
        return NULL;
    default:
        break;
    }
    if (event->kind < TG_EVENT_OMP_PARALLEL_BEGIN || event->kind > TG_EVENT_OMP_CANCEL)
        return NULL;
    return take_openmp_event(model, event, process);
}

/* ---- answers */

size_t tg_openmp_model_worker_count(const struct tg_openmp_model *model)
{
    return model->workers.count;
}

const struct tg_openmp_worker *tg_openmp_model_worker_at(const struct tg_openmp_model *model, size_t i)
{
    return &model->workers.items[i]->public;
}

const struct tg_openmp_worker *tg_openmp_model_worker(const struct tg_openmp_model *model, size_t process,
                                                      int32_t tid)
{
    const struct tg_openmp_worker_entry *worker = tg_openmp_workers_find(&model->workers, process, tid);
    return worker == NULL ? NULL : &worker->public;
}

struct tg_error *tg_openmp_model_visit_teams(const struct tg_openmp_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_openmp_team *team),
                                             void *context)
{
    struct tg_error *error = NULL;
    for (const struct tg_openmp_team_entry *team = model->teams.entries; error == NULL && team != NULL;
         team = team->hh.next)
        if (!team->is_over)
            error = visit(context, &team->public);
    return error;
}

const struct tg_openmp_team *tg_openmp_model_team(const struct tg_openmp_model *model, size_t process,
                                                  uint64_t id)
{
    const struct tg_openmp_team_entry *team = tg_openmp_teams_find(&model->teams, process, id);
    return team == NULL || team->is_over ? NULL : &team->public;
}

struct tg_error *tg_openmp_model_visit_tasks(const struct tg_openmp_model *model,
                                             struct tg_error *(*visit)(void *context,
                                                                       const struct tg_openmp_task *task),
                                             void *context)
{
    struct tg_error *error = NULL;
    const struct tg_openmp_task_entry *task = model->tasks.entries;
    for (; error == NULL && task != NULL; task = task->hh.next)
        error = visit(context, &task->public);
    return error;
}
