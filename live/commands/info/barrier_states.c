#include "live/commands/info/barrier_states.h"

#include "live/commands/focus/focus_call.h"

#include <stdlib.h>
#include <string.h>

/* ---- where from */

static struct tg_error *add_location(struct tg_barrier_states *states, const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL)
        return tg_error_no_memory();
    states->locations[states->n_locations++] = copy;
    return NULL;
}

static struct tg_error *copy_model(const struct tg_run_model *model, struct tg_barrier_states *states)
{
    struct tg_error *error = tg_run_model_copy(model, &states->model);
    if (error != NULL)
        return error;
    states->locations = calloc(tg_barriers_count(model) + 1, sizeof *states->locations);
    return states->locations == NULL ? tg_error_no_memory() : NULL;
}

/* On the tracer thread, in one call: what the controller knows now. */
static struct tg_error *take_live(const struct tg_request *control)
{
    struct tg_barrier_states *states = control->context;
    const struct tg_action_points *points = tg_controller_points(control->controller);
    struct tg_error *error = copy_model(tg_controller_runs(control->controller), states);
    if (error == NULL)
        error = tg_controller_view(control->controller, &states->view);
    for (size_t i = 0; error == NULL && i < tg_barriers_count(states->model); i++) {
        const struct tg_action_point *point = NULL;
        error = tg_action_points_find(points, tg_barriers_at(states->model, i)->id, &point);
        if (error == NULL)
            error = add_location(states, *point->place != '\0' ? point->place : point->location);
    }
    return error;
}

static struct tg_error *take_traced(struct tg_console *console, struct tg_barrier_states *states)
{
    const struct tg_barrier_trace *trace = console->source->moment->barriers;
    struct tg_error *error = copy_model(tg_barrier_trace_model(trace), states);
    if (error == NULL)
        error = tg_source_view(console->source, &states->view);
    for (size_t i = 0; error == NULL && i < tg_barriers_count(states->model); i++)
        error = add_location(states, tg_barrier_trace_location(trace, tg_barriers_at(states->model, i)->id));
    return error;
}

struct tg_error *tg_barrier_states_take(struct tg_console *console, struct tg_barrier_states *states)
{
    *states = (struct tg_barrier_states){0};
    return console->options.live != NULL ? tg_focus_call_run_all(console, take_live, states, NULL)
                                         : take_traced(console, states);
}

void tg_barrier_states_deinit(struct tg_barrier_states *states)
{
    for (size_t i = 0; i < states->n_locations; i++)
        free(states->locations[i]);
    free(states->locations);
    tg_job_view_destroy(states->view);
    tg_run_model_destroy(states->model);
    *states = (struct tg_barrier_states){0};
}

/* ---- states of members */

/* The barrier that holds UNIT itself, 0 none does. */
static uint32_t holder_of(const struct tg_run_model *model, struct tg_thread_id unit)
{
    if (!tg_run_model_holds(model, unit))
        return 0;
    for (size_t i = 0; i < tg_barriers_count(model); i++) {
        uint32_t id = tg_barriers_at(model, i)->id;
        if (tg_barriers_membership(model, id, unit).is_held)
            return id;
    }
    return 0;
}

/* Of a thread that has not arrived. */
static struct tg_barrier_member stand_thread(const struct tg_run_model *model, struct tg_thread_id thread)
{
    struct tg_barrier_member member = {.thread = thread, .standing = TG_STANDS_RUNNING};
    if (!tg_run_model_has_thread(model, thread) || tg_run_model_state(model, thread) != TG_RUN_STOPPED)
        return member;
    member.standing = tg_run_model_is_held(model, thread) ? TG_STANDS_HELD : TG_STANDS_STOPPED;
    member.barrier = holder_of(model, thread);
    if (member.barrier == 0)
        member.barrier = holder_of(model, (struct tg_thread_id){thread.dpid, 0});
    if (member.barrier != 0)
        member.standing = TG_STANDS_ELSEWHERE;
    return member;
}

/* Of a process that has not arrived: the state of its thread that is the likeliest to come. */
static struct tg_barrier_member stand_process(const struct tg_barrier_states *states,
                                              const struct tg_job_process *process)
{
    struct tg_barrier_member best = {.standing = TG_STANDS_COUNT};
    for (size_t i = 0; i < process->n_threads; i++) {
        const struct tg_thread_id thread = {process->info.dpid,
                                            tg_job_view_thread(states->view, process, i)->dtid};
        if (!tg_run_model_has_thread(states->model, thread))
            continue;
        struct tg_barrier_member member = stand_thread(states->model, thread);
        if (member.standing < best.standing)
            best = member;
    }
    if (best.standing == TG_STANDS_COUNT) /* threads of the process are not known yet */
        best.standing = TG_STANDS_RUNNING;
    best.thread = (struct tg_thread_id){process->info.dpid, 0};
    return best;
}

static void add_member(const struct tg_barrier_states *states, uint32_t id,
                       const struct tg_job_process *process, struct tg_thread_id unit,
                       struct tg_barrier_member *members, size_t *count)
{
    struct tg_barrier_membership is = tg_barriers_membership(states->model, id, unit);
    if (!is.is_member)
        return;
    struct tg_barrier_member *member = &members[(*count)++];
    if (is.has_arrived)
        *member = (struct tg_barrier_member){.thread = unit,
                                             .standing = is.is_held ? TG_STANDS_ARRIVED : TG_STANDS_LET_GO};
    else
        *member = unit.dtid == 0 ? stand_process(states, process) : stand_thread(states->model, unit);
}

struct tg_error *tg_barrier_states_members(const struct tg_barrier_states *states, uint32_t id,
                                           struct tg_barrier_member **members, size_t *count)
{
    struct tg_barrier_member *made = calloc(tg_job_view_slots(states->view) + 1, sizeof *made);
    struct tg_barrier_status status;
    size_t n = 0;
    if (made == NULL)
        return tg_error_no_memory();
    bool exists = tg_barriers_status(states->model, id, &status);
    for (size_t p = 0; exists && p < tg_job_view_count(states->view); p++) {
        const struct tg_job_process *process = tg_job_view_at(states->view, p);
        if (!status.of_threads)
            add_member(states, id, process, (struct tg_thread_id){process->info.dpid, 0}, made, &n);
        for (size_t i = 0; status.of_threads && i < process->n_threads; i++)
            add_member(
                states, id, process,
                (struct tg_thread_id){process->info.dpid, tg_job_view_thread(states->view, process, i)->dtid},
                made, &n);
    }
    *members = made;
    *count = n;
    return NULL;
}

void tg_barrier_states_add(const struct tg_barrier_states *states, struct tg_thread_id unit,
                           struct tg_job_set *set)
{
    const struct tg_job_process *process = tg_job_view_process(states->view, unit.dpid);
    for (size_t i = 0; process != NULL && (i < process->n_threads || i == 0); i++)
        if (unit.dtid == 0 ||
            (i < process->n_threads && tg_job_view_thread(states->view, process, i)->dtid == unit.dtid))
            tg_job_set_add(set, process, i);
}
