#include "live/control/controller.h"

#include "analyzer/job/run_ending.h"
#include "format/base/hash.h"
#include "live/control/decisions.h"
#include "live/control/planting.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory */

struct tg_error *tg_controller_create(const struct tg_controller_orders *orders, void *engine,
                                      struct tg_controller **controller)
{
    struct tg_controller *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->orders = orders;
    made->engine = engine;
    struct tg_error *error = tg_job_model_create(&made->job);
    if (error == NULL)
        error = tg_run_model_create(&made->runs);
    if (error == NULL)
        error = tg_action_points_create(&made->points);
    if (error == NULL)
        *controller = made;
    else
        tg_controller_destroy(made);
    return error;
}

static void drop_thread(struct tg_controlled_process *process, struct tg_controlled_thread *thread)
{
    HASH_DEL(process->threads, thread);
    free(thread);
}

static void drop_process(struct tg_controller *controller, struct tg_controlled_process *process)
{
    struct tg_controlled_thread *thread, *next;
    HASH_ITER (hh, process->threads, thread, next)
        drop_thread(process, thread);
    HASH_DEL(controller->processes, process);
    free(process);
}

void tg_controller_destroy(struct tg_controller *controller)
{
    struct tg_controlled_process *process, *next;
    if (controller == NULL)
        return;
    HASH_ITER (hh, controller->processes, process, next)
        drop_process(controller, process);
    tg_action_points_destroy(controller->points);
    tg_run_model_destroy(controller->runs);
    tg_job_model_destroy(controller->job);
    tg_job_view_destroy(controller->view);
    free(controller);
}

const struct tg_action_points *tg_controller_points(const struct tg_controller *controller)
{
    return controller->points;
}

const struct tg_run_model *tg_controller_runs(const struct tg_controller *controller)
{
    return controller->runs;
}

const struct tg_job_model *tg_controller_job(const struct tg_controller *controller)
{
    return controller->job;
}

struct tg_job_model *tg_controller_change_job(struct tg_controller *controller)
{
    controller->version++;
    return controller->job;
}

/* ---- processes and threads come and go */

/* Plants all action points in PROCESS that are meant for it. */
static struct tg_error *plant_in(struct tg_controller *controller,
                                 const struct tg_controlled_process *process)
{
    struct tg_error *first = NULL;
    for (size_t i = 0; i < tg_action_points_count(controller->points); i++) {
        const struct tg_action_point *point = tg_action_points_at(controller->points, i);
        struct tg_error *error = tg_planting_plant(controller, process, point->id, false);
        if (first == NULL) /* the others are planted all the same */
            first = tg_error_prefix(error, "action point %" PRIu32, point->id);
        else
            tg_error_destroy(error);
    }
    return first;
}

/* A process's first thread is a worker. */
static bool find_kind(struct tg_controller *controller, const struct tg_controlled_process *process,
                      struct tg_controlled_thread *thread)
{
    bool is_manager = false;
    thread->is_kind_known =
        thread->tid == process->pid ||
        controller->orders->ask_manager(controller->engine, process->pid, thread->tid, &is_manager);
    is_manager = is_manager && thread->is_kind_known;
    if (is_manager)
        tg_job_model_set_manager(controller->job, process->pid, thread->tid, true);
    return is_manager;
}

/* Finds out now, when THREAD is stopped, what was not known when it started. */
static struct tg_error *find_kind_late(struct tg_controller *controller,
                                       const struct tg_controlled_process *process,
                                       struct tg_controlled_thread *thread)
{
    if (thread->is_kind_known || !find_kind(controller, process, thread))
        return NULL;
    struct tg_event event = {.kind = TG_EVENT_CONTROL_THREAD,
                             .control_thread = {thread->id.dpid, thread->id.dtid, true}};
    tg_decisions_record(controller, thread->id, &event);
    return tg_decisions_carry_out(controller, tg_run_model_set_manager(controller->runs, thread->id, true));
}

static struct tg_error *meet_thread(struct tg_controller *controller, struct tg_controlled_process *process,
                                    int32_t tid)
{
    struct tg_thread_id thread_id;
    if (tg_controlled_thread_find(process, tid) != NULL ||
        !tg_job_model_thread_id(controller->job, process->pid, tid, &thread_id))
        return NULL;
    struct tg_controlled_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL)
        return tg_error_no_memory();
    *thread = (struct tg_controlled_thread){.tid = tid, .id = thread_id, .state = TG_JOB_STOPPED};
    if (TG_HASH_ADD(hh, process->threads, tid, thread) != NULL) {
        free(thread);
        return tg_error_no_memory();
    }
    bool is_manager = find_kind(controller, process, thread);
    struct tg_event event = {.kind = TG_EVENT_CONTROL_THREAD,
                             .control_thread = {thread_id.dpid, thread_id.dtid, is_manager}};
    tg_decisions_record(controller, thread_id, &event);
    return tg_decisions_carry_out(controller,
                                  tg_run_model_add_thread(controller->runs, thread_id, is_manager));
}

/* Tells of PROCESS's groups, and has the model know them. */
static struct tg_error *tell_groups(struct tg_controller *controller,
                                    const struct tg_controlled_process *process, bool is_new)
{
    const struct tg_process_groups *groups = &process->groups;
    struct tg_event event = {
        .kind = TG_EVENT_CONTROL_PROCESS,
        .control_process = {groups->dpid, groups->control_group, groups->share_group, groups->workers_group}};
    tg_decisions_record(controller, (struct tg_thread_id){groups->dpid, 0}, &event);
    return tg_decisions_carry_out(controller, is_new ? tg_run_model_add_process(controller->runs, groups)
                                                     : tg_run_model_change_process(controller->runs, groups));
}

static struct tg_error *meet_process(struct tg_controller *controller, int32_t pid)
{
    struct tg_thread_id thread_id;
    struct tg_process_groups groups;
    if (!tg_job_model_thread_id(controller->job, pid, 0, &thread_id) ||
        !tg_job_model_groups(controller->job, thread_id.dpid, &groups))
        return NULL;
    struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    if (process != NULL && process->groups.share_group == groups.share_group) {
        process->is_of_ranks = tg_job_model_is_of_ranks(controller->job, groups.control_group);
        return NULL; /* a share group is of one control group */
    }
    bool is_new = process == NULL;
    if (is_new) {
        struct tg_error *no_memory = TG_HASH_CREATE(hh, controller->processes, pid, &pid, process);
        if (no_memory != NULL)
            return no_memory;
    }
    process->groups = groups;
    process->is_of_ranks = tg_job_model_is_of_ranks(controller->job, groups.control_group);
    struct tg_error *error = tell_groups(controller, process, is_new);
    if (error == NULL && is_new)
        error = meet_thread(controller, process, pid);
    return error;
}

/* After exec nobody but the first thread is left. */
static struct tg_error *forget_others(struct tg_controller *controller, struct tg_controlled_process *process)
{
    struct tg_controlled_thread *thread, *next;
    HASH_ITER (hh, process->threads, thread, next) {
        if (thread->tid == process->pid)
            continue;
        struct tg_thread_id thread_id = thread->id;
        drop_thread(process, thread);
        struct tg_error *error = tg_decisions_carry_out(
            controller, tg_run_model_remove_thread(controller->runs, thread_id, TG_BARRIER_BY_EXIT));
        if (error != NULL)
            return error;
    }
    return meet_thread(controller, process, process->pid);
}

static struct tg_error *part_from_thread(struct tg_controller *controller, const struct tg_event *event)
{
    struct tg_controlled_process *process = tg_controlled_process_find(controller, event->pid);
    struct tg_controlled_thread *thread = tg_controlled_thread_find(process, event->tid);
    if (thread == NULL)
        return NULL;
    struct tg_thread_id thread_id = thread->id;
    drop_thread(process, thread);
    struct tg_error *error =
        !tg_thread_ends_with_process(event)
            ? NULL
            : tg_decisions_carry_out(controller,
                                     tg_run_model_set_ending(controller->runs, thread_id.dpid, true));
    return error != NULL
               ? error
               : tg_decisions_carry_out(
                     controller, tg_run_model_remove_thread(controller->runs, thread_id, TG_BARRIER_BY_EXIT));
}

static struct tg_error *part_from_process(struct tg_controller *controller, const struct tg_event *event)
{
    struct tg_controlled_process *process = tg_controlled_process_find(controller, event->pid);
    if (process == NULL)
        return NULL;
    uint32_t dpid = process->groups.dpid;
    drop_process(controller, process);
    return tg_decisions_carry_out(controller, tg_run_model_remove_process(controller->runs, dpid,
                                                                          event->kind == TG_EVENT_DETACH
                                                                              ? TG_BARRIER_BY_DETACH
                                                                              : TG_BARRIER_BY_EXIT));
}

struct tg_error *tg_controller_event(struct tg_controller *controller, const struct tg_event *event)
{
    struct tg_error *error = NULL;
    bool ends_process = event->kind == TG_EVENT_PROCESS_EXIT || event->kind == TG_EVENT_DETACH;
    controller->version++;
    if (event->kind == TG_EVENT_PROCESS_START) /* of a process whose end was not seen */
        error = part_from_process(controller, event);
    if (error == NULL)
        error = tg_job_model_feed(controller->job, event);
    if (error != NULL)
        return error;
    if (ends_process)
        return part_from_process(controller, event);
    if (event->kind == TG_EVENT_THREAD_EXIT)
        return part_from_thread(controller, event);
    struct tg_controlled_process *process = tg_controlled_process_find(controller, event->pid);
    if (process != NULL && event->kind == TG_EVENT_EXEC)
        error = forget_others(controller, process);
    if (error == NULL)
        error = meet_process(controller, event->pid);
    process = tg_controlled_process_find(controller, event->pid);
    if (error == NULL && process != NULL && event->kind == TG_EVENT_THREAD_START)
        error = meet_thread(controller, process, event->tid);
    if (error == NULL && process != NULL && event->kind == TG_EVENT_PROGRAM)
        error = tg_decisions_carry_out(
            controller, tg_run_model_set_ending(controller->runs, process->groups.dpid, false));
    if (error == NULL && process != NULL &&
        (event->kind == TG_EVENT_PROCESS_START || event->kind == TG_EVENT_PROGRAM))
        error = plant_in(controller, process);
    return error;
}

void tg_controller_forked(struct tg_controller *controller, int32_t pid)
{
    const struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    for (size_t i = 0; process != NULL && i < tg_action_points_count(controller->points); i++) {
        const struct tg_action_point *point = tg_action_points_at(controller->points, i);
        if (!tg_planting_is_meant(point, process))
            controller->orders->unplant(controller->engine, pid, point->id);
    }
}

struct tg_error *tg_controller_end(struct tg_controller *controller, bool kills)
{
    struct tg_event event = {.kind = TG_EVENT_CONTROL_END, .control_end = {kills}};
    controller->orders->record(controller->engine, &event);
    return tg_decisions_carry_out(controller, tg_run_model_end(controller->runs));
}

void tg_controller_killed(struct tg_controller *controller, int32_t pid)
{
    struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    if (process != NULL)
        process->is_killed = true;
    controller->version++;
}

struct tg_error *tg_controller_libraries_changed(struct tg_controller *controller, int32_t pid)
{
    const struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    controller->version++; /* threads may be at the same code now */
    return process == NULL ? NULL : plant_in(controller, process);
}

struct tg_error *tg_controller_lost(struct tg_controller *controller, uint32_t id)
{
    struct tg_error *error = tg_action_points_unplace(controller->points, id);
    if (error == NULL)
        tg_planting_tell(controller, TG_NEWS_POINT, id, "pending", NULL);
    return error;
}

/* ---- stops */

static struct tg_error *tell_stopped(struct tg_controller *controller,
                                     const struct tg_controlled_thread *thread)
{
    struct tg_event event = {.kind = TG_EVENT_CONTROL_STOPPED,
                             .control_stopped = {thread->id.dpid, thread->id.dtid}};
    tg_decisions_record(controller, thread->id, &event);
    return tg_decisions_carry_out(controller, tg_run_model_stopped(controller->runs, thread->id));
}

struct tg_error *tg_controller_stopped(struct tg_controller *controller, int32_t pid, int32_t tid,
                                       enum tg_job_state state, uint64_t pc)
{
    const struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    struct tg_controlled_thread *thread = tg_controlled_thread_find(process, tid);
    if (thread == NULL)
        return NULL;
    thread->state = state;
    thread->pc = pc;
    struct tg_error *error = find_kind_late(controller, process, thread);
    return error != NULL ? error : tell_stopped(controller, thread);
}

bool tg_controller_is_meant(const struct tg_controller *controller, uint32_t id, int32_t pid)
{
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    const struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    return point != NULL && process != NULL && tg_planting_is_meant(point, process);
}

bool tg_controller_concerns(const struct tg_controller *controller,
                            const struct tg_controlled_process *process, uint32_t id,
                            struct tg_thread_id thread)
{
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    if (point == NULL || !tg_action_points_in_force(controller->points, id))
        return false;
    if (point->kind != TG_ACTION_BARRIER)
        return tg_planting_is_meant(point, process);
    struct tg_thread_id thread_id = {thread.dpid, point->of_threads ? thread.dtid : 0};
    return tg_barriers_membership(controller->runs, id, thread_id).is_member;
}

struct tg_error *tg_controller_arrive(struct tg_controller *controller, uint32_t id,
                                      struct tg_thread_id thread_id, bool more)
{
    size_t count;
    struct tg_error *error = more ? tg_barriers_arrive_on(controller->runs, id, thread_id)
                                  : tg_barriers_arrive(controller->runs, id, thread_id);
    if (error != NULL)
        return error;
    const struct tg_run_decision *decisions = tg_run_model_decisions(controller->runs, &count);
    bool is_late = count > 0 && decisions[0].kind == TG_DECIDE_LATE;
    struct tg_event event = {.kind = TG_EVENT_BARRIER_ARRIVAL,
                             .barrier_arrival = {id, thread_id.dpid, thread_id.dtid, is_late, more}};
    tg_decisions_record(controller, thread_id, &event);
    return tg_decisions_carry_out(controller, NULL);
}

/* Stops what else a breakpoint that UNIT is at stops. */
static struct tg_error *stop_others(struct tg_controller *controller, const struct tg_action_point *point,
                                    const struct tg_controlled_process *process)
{
    const struct tg_controlled_process *other;
    if (point->stop_when_hit == TG_BARRIER_STOP_NONE)
        return NULL;
    for (other = controller->processes; other != NULL; other = other->hh.next) {
        bool meant = point->stop_when_hit == TG_BARRIER_STOP_GROUP
                         ? other->groups.control_group == process->groups.control_group
                         : other == process;
        if (!meant)
            continue;
        struct tg_error *error = tg_decisions_carry_out(
            controller, tg_run_model_halt(controller->runs, (struct tg_thread_id){other->groups.dpid, 0}));
        if (error != NULL)
            return error;
    }
    return NULL;
}

static bool is_barrier(const struct tg_controller *controller, uint32_t id)
{
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    return point != NULL && point->kind == TG_ACTION_BARRIER;
}

/* A thread that has written to what is watched is at no other kind of point. */
static bool is_watchpoint(const struct tg_controller *controller, uint32_t id)
{
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    return point != NULL && point->kind == TG_ACTION_WATCH;
}

/* UNIT is at action point ID, and at N_BARRIERS barriers that it has not arrived at yet. */
static struct tg_error *take_hit(struct tg_controller *controller,
                                 const struct tg_controlled_process *process, struct tg_thread_id thread_id,
                                 uint32_t id, size_t *n_barriers)
{
    const struct tg_action_point *point = NULL;
    struct tg_error *error = tg_action_points_hit(controller->points, id);
    if (error == NULL)
        error = tg_action_points_find(controller->points, id, &point);
    if (error != NULL)
        return error;
    if (point->kind != TG_ACTION_BARRIER)
        return stop_others(controller, point, process);
    return tg_controller_arrive(controller, id, thread_id, --*n_barriers > 0);
}

struct tg_error *tg_controller_hit(struct tg_controller *controller, int32_t pid, int32_t tid, uint64_t pc,
                                   const uint32_t *ids, size_t n_ids)
{
    const struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    struct tg_controlled_thread *thread = tg_controlled_thread_find(process, tid);
    size_t n_concerned = 0, n_barriers = 0;
    if (thread == NULL)
        return NULL;
    struct tg_error *error = find_kind_late(controller, process, thread);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < n_ids; i++) {
        if (!tg_controller_concerns(controller, process, ids[i], thread->id))
            continue;
        n_concerned++;
        n_barriers += is_barrier(controller, ids[i]);
    }
    if (n_concerned == 0 && tg_run_model_state(controller->runs, thread->id) == TG_RUN_RUNNING) {
        controller->orders->resume(controller->engine, pid, tid);
        return NULL;
    }
    thread->state = n_concerned == 0                    ? TG_JOB_STOPPED
                    : is_watchpoint(controller, ids[0]) ? TG_JOB_WATCHPOINT
                                                        : TG_JOB_BREAKPOINT;
    thread->pc = pc;
    /* a thread stops by arriving at a barrier, too, which decides by how it came there */
    error = n_barriers == 0 ? tell_stopped(controller, thread) : NULL;
    for (size_t i = 0; error == NULL && i < n_ids; i++)
        if (tg_controller_concerns(controller, process, ids[i], thread->id))
            error = take_hit(controller, process, thread->id, ids[i], &n_barriers);
    return error;
}

/* ---- the view */

static void say_state(void *context, struct tg_thread_id thread_id, struct tg_job_thread *answer)
{
    const struct tg_controller *controller = context;
    int32_t pid, tid;
    answer->held = tg_run_model_holds(controller->runs, thread_id);
    if (!tg_job_model_name(controller->job, thread_id, &pid, &tid))
        return;
    answer->tag = (uint64_t)(uint32_t)pid;
    if (thread_id.dtid == 0)
        return;
    const struct tg_controlled_process *process = tg_controlled_process_find(controller, pid);
    const struct tg_controlled_thread *thread = tg_controlled_thread_find(process, tid);
    answer->tag = (uint64_t)(uint32_t)tid;
    if (thread == NULL || process->is_killed ||
        tg_run_model_state(controller->runs, thread_id) != TG_RUN_STOPPED)
        return;
    answer->state = thread->state;
    answer->pc = thread->pc;
}

struct tg_error *tg_controller_fill_view(const struct tg_controller *controller, struct tg_job_view *view)
{
    return tg_job_model_view(controller->job, say_state, (void *)(uintptr_t)controller, view);
}

struct tg_error *tg_controller_view(const struct tg_controller *controller, struct tg_job_view **view)
{
    struct tg_job_view *made = NULL;
    struct tg_error *error = tg_job_view_create(&made);
    if (error == NULL)
        error = tg_controller_fill_view(controller, made);
    if (error == NULL)
        *view = made;
    else
        tg_job_view_destroy(made);
    return error;
}

struct tg_error *tg_controller_latest_view(struct tg_controller *controller, struct tg_job_view **view)
{
    struct tg_job_view *made = NULL;
    if (controller->view == NULL || controller->view_version != controller->version) {
        struct tg_error *error = tg_controller_view(controller, &made);
        if (error != NULL)
            return error;
        tg_job_view_destroy(controller->view);
        controller->view = made;
        controller->view_version = controller->version;
    }
    *view = controller->view;
    return NULL;
}

uint64_t tg_controller_version(const struct tg_controller *controller)
{
    return controller->version;
}
