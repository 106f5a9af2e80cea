/* Commands of people: go, halt, hold; action points. */
#include "live/control/controller.h"

#include "live/control/planting.h"
#include "live/sets/barrier_focus.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- go, halt, hold */

typedef struct tg_error *command(struct tg_controller *controller, struct tg_thread_id thread_id);

static struct tg_error *go(struct tg_controller *controller, struct tg_thread_id thread_id)
{
    return tg_decisions_carry_out(controller, tg_run_model_go(controller->runs, thread_id));
}

static struct tg_error *halt(struct tg_controller *controller, struct tg_thread_id thread_id)
{
    return tg_decisions_carry_out(controller, tg_run_model_halt(controller->runs, thread_id));
}

struct tg_error *tg_controller_halt_thread(struct tg_controller *controller, struct tg_thread_id thread_id)
{
    return halt(controller, thread_id);
}

static struct tg_error *hold(struct tg_controller *controller, struct tg_thread_id thread_id)
{
    struct tg_event event = {.kind = TG_EVENT_BARRIER_HELD,
                             .barrier_held = {0, thread_id.dpid, thread_id.dtid}};
    tg_decisions_record(controller, thread_id, &event);
    return tg_decisions_carry_out(controller, tg_run_model_hold(controller->runs, thread_id));
}

static struct tg_error *unhold(struct tg_controller *controller, struct tg_thread_id thread_id)
{
    struct tg_event event = {.kind = TG_EVENT_CONTROL_UNHOLD,
                             .control_unhold = {thread_id.dpid, thread_id.dtid}};
    tg_decisions_record(controller, thread_id, &event);
    return tg_decisions_carry_out(controller, tg_run_model_unhold(controller->runs, thread_id));
}

enum shape {
    WHOLE_PROCESSES, /* each that has anybody in the set */
    THREADS,
    EITHER, /* a process where all of it is in the set */
};

static struct tg_error *command_process(struct tg_controller *controller, const struct tg_job_view *view,
                                        const struct tg_job_process *process, const struct tg_job_set *set,
                                        enum shape shape, command *run)
{
    size_t n_members = 0;
    for (size_t i = 0; i < process->n_threads; i++)
        n_members += tg_job_set_has(set, process, i);
    if (!process->info.exists || n_members == 0)
        return NULL;
    if (shape == WHOLE_PROCESSES || (shape == EITHER && n_members == process->n_threads))
        return run(controller, (struct tg_thread_id){process->info.dpid, 0});
    for (size_t i = 0; i < process->n_threads; i++) {
        struct tg_thread_id thread_id = {process->info.dpid, tg_job_view_thread(view, process, i)->dtid};
        struct tg_error *error = tg_job_set_has(set, process, i) ? run(controller, thread_id) : NULL;
        if (error != NULL)
            return error;
    }
    return NULL;
}

static struct tg_error *command_set(struct tg_controller *controller, const struct tg_job_view *view,
                                    const struct tg_job_set *set, enum shape shape, command *run)
{
    struct tg_error *error = NULL;
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++)
        error = command_process(controller, view, tg_job_view_at(view, p), set, shape, run);
    return error;
}

/* A library's own threads serve those of the program: they run where one of these does, whoever is in SET. */
static struct tg_error *go_with_managers(struct tg_controller *controller, const struct tg_job_view *view,
                                         const struct tg_job_process *process, const struct tg_job_set *set)
{
    bool any_runs = false;
    struct tg_error *error = NULL;
    for (size_t i = 0; process->info.exists && !any_runs && i < process->n_threads; i++) {
        const struct tg_thread_id thread_id = {process->info.dpid,
                                               tg_job_view_thread(view, process, i)->dtid};
        any_runs = tg_job_set_has(set, process, i) && tg_run_model_has_thread(controller->runs, thread_id) &&
                   tg_run_model_state(controller->runs, thread_id) == TG_RUN_RUNNING;
    }
    for (size_t i = 0; any_runs && error == NULL && i < process->n_threads; i++) {
        const struct tg_job_thread *thread = tg_job_view_thread(view, process, i);
        if (thread->is_manager && !tg_job_set_has(set, process, i))
            error = go(controller, (struct tg_thread_id){process->info.dpid, thread->dtid});
    }
    return error;
}

struct tg_error *tg_controller_go(struct tg_controller *controller, const struct tg_job_view *view,
                                  const struct tg_job_set *set, size_t *n_held)
{
    size_t held = 0;
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        for (size_t i = 0; i < process->n_threads; i++)
            if (tg_job_set_has(set, process, i))
                held += process->info.held || tg_job_view_thread(view, process, i)->held;
    }
    if (n_held != NULL)
        *n_held = held;
    struct tg_error *error = command_set(controller, view, set, EITHER, go);
    for (size_t p = 0; error == NULL && p < tg_job_view_count(view); p++)
        error = go_with_managers(controller, view, tg_job_view_at(view, p), set);
    return error;
}

struct tg_error *tg_controller_halt(struct tg_controller *controller, const struct tg_job_view *view,
                                    const struct tg_job_set *set)
{
    return command_set(controller, view, set, EITHER, halt);
}

struct tg_error *tg_controller_hold(struct tg_controller *controller, const struct tg_job_view *view,
                                    const struct tg_job_set *set, bool of_processes)
{
    return command_set(controller, view, set, of_processes ? WHOLE_PROCESSES : THREADS, hold);
}

struct tg_error *tg_controller_unhold(struct tg_controller *controller, const struct tg_job_view *view,
                                      const struct tg_job_set *set, bool of_processes)
{
    return command_set(controller, view, set, of_processes ? WHOLE_PROCESSES : THREADS, unhold);
}

/* ---- action points */

/* LOCATION, a FILE:LINE, is in no process: behind which line of the file, 0 the file is in none either. */
static uint64_t find_last_line(const struct tg_controller *controller, const char *location)
{
    const struct tg_controlled_process *process;
    uint64_t last = 0;
    for (process = controller->processes; process != NULL && controller->orders->last_line != NULL;
         process = process->hh.next) {
        uint64_t line = controller->orders->last_line(controller->engine, process->pid, location);
        last = line > last ? line : last;
    }
    return last;
}

/* A process that has LOCATION, though POINT is not meant for it; NULL none. */
static const struct tg_controlled_process *find_owner(const struct tg_controller *controller,
                                                      const struct tg_action_point *point)
{
    const struct tg_controlled_process *process;
    for (process = controller->processes; process != NULL && controller->orders->has != NULL;
         process = process->hh.next)
        if (!tg_planting_is_meant(point, process) &&
            controller->orders->has(controller->engine, process->pid, point->location))
            return process;
    return NULL;
}

/* FILE:LINE as people write it, with a #. */
static struct tg_error *tell_missing(const struct tg_controller *controller,
                                     const struct tg_action_point *point)
{
    const char *location = point->location;
    const struct tg_controlled_process *owner =
        point->kind == TG_ACTION_WATCH ? NULL : find_owner(controller, point);
    const char *colon = strrchr(location, ':');
    bool is_line = colon != NULL && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    int head = is_line ? (int)(colon - location) : (int)strlen(location);
    if (owner != NULL) {
        int64_t rank;
        char whose[40];
        bool is_rank = tg_job_model_rank(controller->job, owner->groups.dpid, &rank);
        snprintf(whose, sizeof whose, is_rank ? "r%" PRId64 : "p%" PRId64,
                 is_rank ? rank : (int64_t)owner->groups.dpid);
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "'%.*s%s%s' is not in the program of the process in focus, but in that of "
                               "process %" PRIu32 ": set it with `dfocus gS%s`",
                               head, location, is_line ? "#" : "", is_line ? colon + 1 : "",
                               owner->groups.dpid, is_rank ? whose : whose + 1);
    }
    if (*location == '*') /* an address */
        return tg_error_create(TG_ERROR_NOT_FOUND, "no process has code at %s" TG_POINT_PENDING_ADVICE,
                               location + 1);
    uint64_t last = is_line ? find_last_line(controller, location) : 0;
    if (last != 0)
        return tg_error_create(TG_ERROR_NOT_FOUND,
                               "'%.*s' has no code at or after line %s: its last line with code is %" PRIu64,
                               head, location, colon + 1, last);
    return tg_error_create(TG_ERROR_NOT_FOUND, "'%.*s%s%s' not found in any process" TG_POINT_PENDING_ADVICE,
                           head, location, is_line ? "#" : "", is_line ? colon + 1 : "");
}

/* POINT, pending still, into the table and the job; where it cannot be had it is as if it had never been. */
static struct tg_error *add_point(struct tg_controller *controller, const struct tg_action_point *point,
                                  const void *watch, bool may_be_pending, uint32_t *id)
{
    struct tg_error *error = tg_action_points_add(controller->points, point, id);
    if (error == NULL && watch != NULL) {
        error = controller->orders->define_watch(controller->engine, *id, watch);
        if (error != NULL)
            tg_action_points_take_back(controller->points, *id);
    }
    if (error != NULL)
        return error;
    bool suppressed = tg_action_points_are_suppressed(controller->points);
    tg_action_points_suppress(controller->points, false); /* so that its places are found */
    error = tg_planting_plant_everywhere(controller, *id, true);
    if (error == NULL && point->condition != NULL && *point->condition != '\0' &&
        controller->orders->check_condition != NULL)
        error = controller->orders->check_condition(controller->engine, *id, point->condition);
    bool is_unknown = error != NULL && tg_error_code(error) == TG_ERROR_NOT_FOUND;
    tg_action_points_suppress(controller->points, suppressed);
    if (suppressed)
        tg_planting_unplant_everywhere(controller, *id);
    bool is_missing =
        error == NULL && tg_action_points_get(controller->points, *id)->pending && !may_be_pending;
    if (is_missing)
        error = tell_missing(controller, tg_action_points_get(controller->points, *id));
    if (error == NULL)
        return NULL;
    tg_planting_unplant_everywhere(controller, *id);
    if (watch != NULL)
        (void)controller->orders->define_watch(controller->engine, *id, NULL); /* cannot fail */
    if (is_missing || is_unknown || point->kind == TG_ACTION_WATCH ||
        tg_error_code(error) == TG_ERROR_INPUT) /* nobody has seen its number */
        tg_action_points_take_back(controller->points, *id);
    else
        tg_error_destroy(tg_action_points_remove(controller->points, *id));
    return error;
}

/* The share groups of FOCUS's processes besides POINT's first one. *GROUPS is the caller's. */
static struct tg_error *find_more_groups(const struct tg_ptset *focus, const struct tg_job_view *view,
                                         struct tg_action_point *point, uint32_t **groups, size_t *position)
{
    static const struct tg_ptset_defaults defaults = {.width = TG_WIDTH_PROCESS, .group = TG_GROUP_CONTROL};
    TG_AUTO_JOB_SET struct tg_job_set members = {0};
    struct tg_error *error = tg_ptset_members(focus, view, &defaults, &members, position);
    *groups = error == NULL ? calloc(tg_job_view_count(view) + 1, sizeof **groups) : NULL;
    if (error != NULL || *groups == NULL)
        return error != NULL ? error : tg_error_no_memory();
    point->more_groups = *groups;
    for (size_t p = 0; p < tg_job_view_count(view); p++) {
        const struct tg_job_process *process = tg_job_view_at(view, p);
        if (process->info.exists && tg_job_set_has_any(&members, process) &&
            !tg_action_point_is_of_group(point, process->info.share_group))
            (*groups)[point->n_more_groups++] = process->info.share_group;
    }
    return NULL;
}

/* In whose processes a breakpoint of FOCUS is: a process where its only arena has that width, else the share
 * groups. *GROUPS is the caller's. */
static struct tg_error *find_processes(const struct tg_ptset *focus, const struct tg_job_view *view,
                                       struct tg_action_point *point, uint32_t **groups, size_t *position)
{
    const struct tg_job_process *interest = NULL;
    size_t thread, cursor = 0;
    const struct tg_ptset_arena *arena = tg_ptset_next_arena(focus, &cursor);
    struct tg_error *error = tg_ptset_interest(arena, view, &interest, &thread, position);
    if (error != NULL)
        return error;
    bool is_one = tg_ptset_arena(focus, 0) != NULL && tg_ptset_count(focus) == 1;
    point->shared = !is_one || (arena->width != TG_WIDTH_PROCESS && arena->width != TG_WIDTH_THREAD);
    point->group = interest->info.share_group;
    point->process = interest->info.dpid;
    return point->shared && !point->of_ranks ? find_more_groups(focus, view, point, groups, position) : NULL;
}

/* The set that makes the point again, "" where nobody has said for whom it is; NULL: no memory. */
static char *make_focus_text(const struct tg_ptset *focus, const struct tg_job_view *view, unsigned options)
{
    return (options & TG_POINT_OF_RANKS) != 0 ? tg_ptset_unplaced_string(focus)
                                              : tg_ptset_lasting_string(focus, view);
}

struct tg_error *tg_controller_break(struct tg_controller *controller, const struct tg_ptset *focus,
                                     const char *location, const char *condition,
                                     enum tg_barrier_stop stop_when_hit, unsigned options, uint32_t *id,
                                     size_t *position)
{
    struct tg_job_view *view = NULL;
    struct tg_error *error = tg_controller_view(controller, &view);
    if (error != NULL)
        return error;
    char *text = make_focus_text(focus, view, options);
    uint32_t *groups = NULL;
    struct tg_action_point point = {.kind = TG_ACTION_BREAK,
                                    .enabled = true,
                                    .pending = true,
                                    .of_ranks = (options & TG_POINT_OF_RANKS) != 0,
                                    .location = location,
                                    .condition = condition,
                                    .focus = text,
                                    .stop_when_hit = stop_when_hit};
    if (text == NULL)
        error = tg_error_no_memory();
    if (error == NULL)
        error = find_processes(focus, view, &point, &groups, position);
    if (error == NULL)
        error = add_point(controller, &point, NULL, (options & TG_POINT_PENDING) != 0, id);
    if (error == NULL) {
        tg_planting_tell(controller, TG_NEWS_POINT, *id, "made", NULL);
        error = tg_planting_tell_programs(controller, *id);
    }
    tg_job_view_destroy(view);
    free(groups);
    free(text);
    return error;
}

struct tg_error *tg_controller_watch(struct tg_controller *controller, const struct tg_ptset *focus,
                                     const struct tg_watch_request *request,
                                     enum tg_barrier_stop stop_when_hit, unsigned options, uint32_t *id,
                                     size_t *position)
{
    struct tg_job_view *view = NULL;
    struct tg_error *error = tg_controller_view(controller, &view);
    if (error != NULL)
        return error;
    bool is_static = request->dpid == 0;
    char *text = make_focus_text(focus, view, options);
    uint32_t *groups = NULL;
    struct tg_action_point point = {.kind = TG_ACTION_WATCH,
                                    .enabled = true,
                                    .pending = true,
                                    .of_ranks = is_static && (options & TG_POINT_OF_RANKS) != 0,
                                    .location = request->text,
                                    .condition = request->condition,
                                    .focus = text,
                                    .size_bytes = request->size_bytes,
                                    .is_static = is_static,
                                    .stop_when_hit = stop_when_hit};
    if (text == NULL)
        error = tg_error_no_memory();
    if (error == NULL)
        error = find_processes(focus, view, &point, &groups, position);
    if (error == NULL && !is_static) {
        point.n_more_groups = 0;
        point.shared = false;
        point.process = request->dpid;
    }
    if (error == NULL)
        error = add_point(controller, &point, request->watch, (options & TG_POINT_PENDING) != 0, id);
    if (error == NULL)
        tg_planting_tell(controller, TG_NEWS_POINT, *id, "made", NULL);
    tg_job_view_destroy(view);
    free(groups);
    free(text);
    return error;
}

struct tg_error *tg_controller_set_script(struct tg_controller *controller, uint32_t id, const char *script)
{
    return tg_action_points_set_script(controller->points, id, script);
}

/* Whether POINT is to stop anybody from here on. */
static struct tg_error *put_in_force(struct tg_controller *controller, const struct tg_action_point *point,
                                     bool in_force)
{
    struct tg_event event = {.kind = TG_EVENT_BARRIER_ENABLED, .barrier_enabled = {point->id, in_force}};
    if (point->kind == TG_ACTION_BARRIER && !point->unbound) {
        controller->orders->record(controller->engine, &event);
        struct tg_error *error =
            tg_decisions_carry_out(controller, tg_barriers_enable(controller->runs, point->id, in_force));
        if (error != NULL)
            return error;
    }
    if (in_force)
        return tg_planting_plant_everywhere(controller, point->id, false);
    tg_planting_unplant_everywhere(controller, point->id);
    return NULL;
}

/* Threads that are stopped where barrier ID was made have arrived there: of a process one. */
static struct tg_error *take_those_there(struct tg_controller *controller, uint32_t id)
{
    const struct tg_controlled_process *process;
    const struct tg_action_point *point = tg_action_points_get(controller->points, id);
    if (controller->orders->is_planted == NULL || point == NULL ||
        !tg_action_points_in_force(controller->points, id))
        return NULL;
    for (process = controller->processes; process != NULL; process = process->hh.next) {
        const struct tg_controlled_thread *thread;
        bool has_arrived = false;
        for (thread = process->threads; thread != NULL && !has_arrived; thread = thread->hh.next) {
            if (tg_run_model_state(controller->runs, thread->id) != TG_RUN_STOPPED ||
                !tg_controller_concerns(controller, process, id, thread->id) ||
                !controller->orders->is_planted(controller->engine, process->pid, id, thread->pc))
                continue;
            struct tg_error *error = tg_action_points_hit(controller->points, id);
            if (error == NULL)
                error = tg_controller_arrive(controller, id, thread->id, false);
            if (error != NULL)
                return error;
            has_arrived = !point->of_threads;
        }
    }
    return NULL;
}

/* Nobody is told of a hit before this returns, so what is planted first does no harm. */
static struct tg_error *add_barrier(struct tg_controller *controller, const struct tg_barrier_focus *over,
                                    const struct tg_action_point *point, bool pending, uint32_t *id)
{
    struct tg_error *error = add_point(controller, point, NULL, pending, id);
    if (error != NULL)
        return error;
    if (!point->unbound) {
        const struct tg_barrier_definition definition =
            tg_barrier_focus_definition(over, *id, point->stop_when_hit, point->stop_when_done);
        error = tg_planting_begin_barrier(controller, &definition, point->location);
    }
    if (error != NULL) {
        tg_planting_unplant_everywhere(controller, *id);
        tg_error_destroy(tg_action_points_remove(controller->points, *id));
        return error;
    }
    if (tg_action_points_are_suppressed(controller->points))
        return put_in_force(controller, tg_action_points_get(controller->points, *id), false);
    return take_those_there(controller, *id);
}

/* Whether a barrier over FOCUS, of which nobody has said whose it is, may wait for the program that has its
 * place: it is over all of a group. */
static bool may_be_bound_later(const struct tg_ptset *focus)
{
    const struct tg_ptset_arena *arena = tg_ptset_count(focus) == 1 ? tg_ptset_arena(focus, 0) : NULL;
    return arena != NULL && (arena->width == TG_WIDTH_GROUP || arena->width == TG_WIDTH_DEFAULT) &&
           (arena->group == TG_GROUP_MISSING || arena->group == TG_GROUP_DEFAULT ||
            arena->group == TG_GROUP_CONTROL || arena->group == TG_GROUP_WORKERS);
}

struct tg_error *tg_controller_barrier(struct tg_controller *controller, const struct tg_ptset *focus,
                                       const char *location, enum tg_barrier_stop stop_when_hit,
                                       enum tg_barrier_stop stop_when_done, unsigned options, uint32_t *id,
                                       size_t *position)
{
    struct tg_job_view *view = NULL;
    struct tg_barrier_focus over = {0};
    bool of_ranks = (options & TG_POINT_OF_RANKS) != 0;
    struct tg_error *error = tg_controller_view(controller, &view);
    char *text = error == NULL ? make_focus_text(focus, view, options) : NULL;
    if (error == NULL && text == NULL)
        error = tg_error_no_memory();
    if (error == NULL)
        error = tg_barrier_focus_make(focus, view, &over, position);
    const struct tg_action_point point = {.kind = TG_ACTION_BARRIER,
                                          .enabled = true,
                                          .pending = true,
                                          .shared = over.shared,
                                          .group = over.share_group,
                                          .process = over.process,
                                          .of_ranks = of_ranks,
                                          .unbound = of_ranks && may_be_bound_later(focus),
                                          .location = location,
                                          .focus = text,
                                          .stop_when_hit = stop_when_hit,
                                          .stop_when_done = stop_when_done,
                                          .of_threads = over.of_threads,
                                          .satisfaction = over.satisfaction};
    if (error == NULL)
        error = add_barrier(controller, &over, &point, (options & TG_POINT_PENDING) != 0, id);
    if (error == NULL) {
        tg_planting_tell(controller, TG_NEWS_POINT, *id, "made", NULL);
        error = tg_planting_tell_programs(controller, *id);
    }
    tg_barrier_focus_deinit(&over);
    tg_job_view_destroy(view);
    free(text);
    return error;
}

struct tg_error *tg_controller_delete(struct tg_controller *controller, uint32_t id)
{
    const struct tg_action_point *point = NULL;
    struct tg_error *error = tg_action_points_find(controller->points, id, &point);
    if (error != NULL)
        return error;
    if (point->kind == TG_ACTION_BARRIER && !point->unbound) {
        struct tg_event event = {.kind = TG_EVENT_BARRIER_DELETED, .barrier_deleted = {id}};
        controller->orders->record(controller->engine, &event);
        error = tg_decisions_carry_out(controller, tg_barriers_delete(controller->runs, id));
    }
    tg_planting_unplant_everywhere(controller, id);
    if (error == NULL)
        error = tg_action_points_remove(controller->points, id);
    if (error == NULL)
        tg_planting_tell(controller, TG_NEWS_POINT, id, "deleted", NULL);
    return error;
}

struct tg_error *tg_controller_enable(struct tg_controller *controller, uint32_t id, bool enabled)
{
    const struct tg_action_point *point = NULL;
    struct tg_error *error = tg_action_points_find(controller->points, id, &point);
    if (error != NULL || point->enabled == enabled)
        return error;
    error = tg_action_points_enable(controller->points, id, enabled);
    if (error == NULL)
        tg_planting_tell(controller, TG_NEWS_POINT, id, enabled ? "enabled" : "disabled", NULL);
    if (error != NULL || tg_action_points_are_suppressed(controller->points))
        return error;
    return put_in_force(controller, point, enabled);
}

struct tg_error *tg_controller_suppress(struct tg_controller *controller, bool suppressed)
{
    struct tg_error *error = NULL;
    if (tg_action_points_are_suppressed(controller->points) == suppressed)
        return NULL;
    tg_action_points_suppress(controller->points, suppressed);
    tg_planting_tell(controller, TG_NEWS_POINT, 0, suppressed ? "suppressed" : "unsuppressed", NULL);
    for (size_t i = 0; error == NULL && i < tg_action_points_count(controller->points); i++) {
        const struct tg_action_point *point = tg_action_points_at(controller->points, i);
        if (point->enabled)
            error = put_in_force(controller, point, !suppressed);
    }
    return error;
}
