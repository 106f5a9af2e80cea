#include "analyzer/models/openmp/tasking.h"

struct tg_error *tg_openmp_task_create(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                       const struct tg_event *event)
{
    const struct tg_event_omp_task_create *create = &event->omp_task_create;
    struct tg_openmp_team_entry *team =
        tg_openmp_teams_seek(&model->teams, worker->public.process, create->team);
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

/* Whether TASK is the one that WORKER is in: of an untied task that is executed at once, LLVM's runtime tells that it goes on,
 * but not that it was suspended. */
static bool is_in_task(const struct tg_openmp_worker_entry *worker, uint64_t task)
{
    for (size_t i = worker->public.n_places; i-- > 0;)
        if (worker->places[i].kind == TG_OPENMP_IN_TASK)
            return worker->places[i].id == task;
    return false;
}

/* A task that goes on is inside of what it was in when it was suspended, from now on. */
struct tg_error *tg_openmp_task_begin(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      const struct tg_event *event)
{
    uint64_t id = event->omp_task_begin.task;
    struct tg_openmp_place *place;
    struct tg_openmp_task_entry *task;
    struct tg_error *error = tg_openmp_tasks_get(&model->tasks, worker->public.process, id, &task);
    if (error != NULL)
        return error;
    bool goes_on = event->omp_task_begin.resumed != 0 && task != NULL && task->n_places > 0;
    if (task != NULL) {
        task->public.state = TG_OPENMP_TASK_RUNNING;
        task->public.since_ns = event->time_ns;
        task->public.runner = worker->public.index;
    }
    bool is_there = event->omp_task_begin.resumed != 0 && !goes_on && is_in_task(worker, id);
    size_t n_places = goes_on ? task->n_places : !is_there;
    for (size_t i = 0; error == NULL && i < n_places; i++) {
        error = tg_openmp_make_place(model, worker, event, &place);
        if (place == NULL)
            continue;
        if (goes_on) {
            *place = task->places[i];
            place->since_ns = event->time_ns;
        } else {
            tg_openmp_place_fill(place, event, TG_OPENMP_IN_TASK, 0, id);
            if (place->code == 0 && task != NULL)
                place->code = task->public.code;
        }
        error = tg_openmp_enter_made(model, worker);
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
                                            : tg_openmp_teams_seek(&model->teams, process, end->team);
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

struct tg_error *tg_openmp_task_end(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                    const struct tg_event *event)
{
    const struct tg_event_omp_task_end *end = &event->omp_task_end;
    size_t at = tg_openmp_find_place(worker, TG_OPENMP_IN_TASK, 0, end->task);
    count_task(model, event, worker->public.process);
    struct tg_error *error = change_task(model, worker, event, at);
    if (error != NULL || end->how == TG_OMP_TASK_FULFILLED)
        return error; /* by whoever fulfils its event: nobody leaves anything */
    model->is_suspending = end->how == TG_OMP_TASK_SUSPENDED;
    error =
        tg_openmp_leave(model, worker, event, tg_openmp_find_place(worker, TG_OPENMP_IN_TASK, 0, end->task));
    model->is_suspending = false;
    return error;
}
