#include "analyzer/models/openmp/model.h"

#include "analyzer/models/openmp/core.h"
#include "analyzer/models/openmp/mutexes.h"
#include "analyzer/models/openmp/regions.h"
#include "analyzer/models/openmp/tasking.h"
#include "analyzer/models/openmp/zones.h"

#include <stdlib.h>

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

enum { FIRST_KIND = TG_EVENT_OMP_PARALLEL_BEGIN };

static tg_openmp_take *const takes[] = {
    [TG_EVENT_OMP_PARALLEL_BEGIN - FIRST_KIND] = tg_openmp_region_begin,
    [TG_EVENT_OMP_PARALLEL_END - FIRST_KIND] = tg_openmp_region_end,
    [TG_EVENT_OMP_IMPLICIT_BEGIN - FIRST_KIND] = tg_openmp_region_enter,
    [TG_EVENT_OMP_IMPLICIT_END - FIRST_KIND] = tg_openmp_region_leave,
    [TG_EVENT_OMP_ZONE_BEGIN - FIRST_KIND] = tg_openmp_zone_begin,
    [TG_EVENT_OMP_ZONE_END - FIRST_KIND] = tg_openmp_zone_end,
    [TG_EVENT_OMP_SECTION - FIRST_KIND] = tg_openmp_zones_take,
    [TG_EVENT_OMP_SYNC_BEGIN - FIRST_KIND] = tg_openmp_sync_begin,
    [TG_EVENT_OMP_SYNC_END - FIRST_KIND] = tg_openmp_sync_end,
    [TG_EVENT_OMP_MUTEX_WAIT - FIRST_KIND] = tg_openmp_mutex_wait,
    [TG_EVENT_OMP_MUTEX_ENTER - FIRST_KIND] = tg_openmp_mutex_enter,
    [TG_EVENT_OMP_MUTEX_LEAVE - FIRST_KIND] = tg_openmp_mutex_leave,
    [TG_EVENT_OMP_TASK_CREATE - FIRST_KIND] = tg_openmp_task_create,
    [TG_EVENT_OMP_TASK_BEGIN - FIRST_KIND] = tg_openmp_task_begin,
    [TG_EVENT_OMP_TASK_END - FIRST_KIND] = tg_openmp_task_end,
    [TG_EVENT_OMP_CANCEL - FIRST_KIND] = tg_openmp_zones_take,
    [TG_EVENT_OMP_CHUNK - FIRST_KIND] = tg_openmp_zones_take,
    [TG_EVENT_OMP_ITERATION - FIRST_KIND] = tg_openmp_zones_take,
};

static inline struct tg_error *take_openmp_event(struct tg_openmp_model *model, const struct tg_event *event,
                                                 size_t process)
{
    struct tg_openmp_worker_entry *worker =
        tg_openmp_workers_find_recent(&model->workers, process, event->tid);
    if (__builtin_expect(worker == NULL, 0)) {
        struct tg_error *error =
            tg_openmp_workers_get(&model->workers, process, event->tid, event->time_ns, &worker);
        if (error != NULL)
            return error;
    }
    const struct tg_omp_place *at = (const struct tg_omp_place *)TG_EVENT_PAYLOAD(event);
    unsigned kind = event->kind;
    if (__builtin_expect(kind == TG_EVENT_OMP_MUTEX_TEST, 0)) {
        tg_openmp_mutex_test(&worker->public, event);
        return NULL;
    }
    worker->public.last_ns = event->time_ns;
    worker->public.last_kind = kind;
    if (at->code != 0)
        worker->public.last_code = at->code;
    return kind - FIRST_KIND < sizeof takes / sizeof *takes ? takes[kind - FIRST_KIND](model, worker, event)
                                                            : NULL;
}

struct tg_error *tg_openmp_model_feed_run(struct tg_openmp_model *model, const struct tg_event *events,
                                          const size_t *processes, size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < count; i++)
        error = take_openmp_event(model, &events[i], processes[i]);
    return error;
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
    if (!tg_event_has_place(event->kind))
        return NULL;
    return take_openmp_event(model, event, process);
}

/* ---- answers */

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
