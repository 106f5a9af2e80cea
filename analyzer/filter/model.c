#include "analyzer/filter/model_internal.h"
#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

/* ---- create and destroy ---- */

struct tg_error *tg_filter_model_create(const struct tg_filter_model_options *options,
                                        struct tg_filter_model **model)
{
    size_t n = options->n_filters;
    struct tg_filter_model *new = calloc(1, sizeof *new + n * sizeof *new->lanes);
    if (new == NULL)
        return tg_error_no_memory();
    new->options = *options;
    new->basis = &options->survey->basis;
    for (size_t i = 0; i < n; i++) {
        struct tg_lane *lane = &new->lanes[i];
        lane->filter = &options->filters[i];
        lane->verdicts.list = lane->filter->list;
        lane->fast =
            lane->filter->mode == TG_FILTER_FAST && !(options->follows && i == options->recorded_lane);
        new->fast_lanes |= lane->fast ? 1U << i : 0;
        lane->in_process = (options->in_process_lanes >> i & 1) != 0;
        lane->outcome.goals = calloc(options->survey->goals.count + 1, sizeof *lane->outcome.goals);
        if (lane->outcome.goals == NULL) {
            tg_filter_model_destroy(new);
            return tg_error_no_memory();
        }
    }
    *model = new;
    return NULL;
}

void tg_filter_model_destroy(struct tg_filter_model *model)
{
    if (model == NULL)
        return;
    struct tg_filter_process *process, *next;
    HASH_ITER (hh, model->processes, process, next) {
        HASH_DEL(model->processes, process);
        tg_filter_process_destroy(process, model->options.n_filters);
    }
    for (size_t i = 0; i < model->options.n_filters; i++) {
        struct tg_lane *lane = &model->lanes[i];
        tg_verdict_cache_deinit(&lane->verdicts);
        for (size_t t = 0; t < model->n_timelines; t++)
            tg_timeline_deinit(&lane->timelines[t]);
        free(lane->timelines);
        free(lane->outcome.goals);
    }
    tg_dlopen_filter_deinit(&model->followed);
    free(model->libraries);
    free(model->paths);
    free(model->again);
    free(model);
}

const struct tg_filter_outcome *tg_filter_model_outcome(const struct tg_filter_model *model, size_t lane)
{
    return &model->lanes[lane].outcome;
}

/* ---- events ---- */

/* Breakpoints in a file without library events are in time in every mode. */
static struct tg_error *add_planted(struct tg_filter_model *model, struct tg_filter_process *process,
                                    const struct tg_event_breakpoint_planted *planted)
{
    uint32_t goal = 0;
    if (!tg_break_goals_find(&model->options.survey->goals, planted->breakpoint, &goal))
        return NULL;
    struct tg_catalog_library *library = NULL;
    struct tg_error *error =
        tg_library_catalog_intern(model->options.survey->catalog, planted->library, &library);
    if (error != NULL)
        return error;
    if (library->dlopens > 0 || library->startups > 0)
        return tg_filter_process_plant(process, planted->address, library->id);
    for (size_t index = 0; library->programs == 0 && index < model->options.n_filters; index++) {
        tg_planting_count(&model->lanes[index].outcome.goals[goal], TG_FATE_IN_TIME, 0);
        tg_planting_count(&model->lanes[index].outcome.planting, TG_FATE_IN_TIME, 0);
    }
    return NULL;
}

/* Breakpoints in the program are in time in every mode. */
static struct tg_error *add_program(struct tg_filter_model *model, const struct tg_event_program *program)
{
    struct tg_catalog_library *library = NULL;
    struct tg_error *error =
        tg_library_catalog_intern(model->options.survey->catalog, program->path, &library);
    for (size_t index = 0; error == NULL && index < model->options.n_filters; index++)
        tg_lane_plant_goals(&model->lanes[index], library, TG_FATE_IN_TIME, 0);
    return error;
}

/* The bit of the lane that follows the recording, 0 none. */
static unsigned following_lane(const struct tg_filter_model *model)
{
    size_t recorded = model->options.recorded_lane;
    return model->options.follows && recorded < model->options.n_filters ? 1U << recorded : 0;
}

/* Handles the waiting libraries of the lane that follows, once the stop can show no more libraries. */
static struct tg_error *handle_due(struct tg_filter_model *model, struct tg_filter_process *process)
{
    if (!process->is_due)
        return NULL;
    process->is_due = false;
    return tg_filter_handle_waiting(model, process, process->due_trigger, process->due_ns, process->due_final,
                                    ~following_lane(model));
}

static struct tg_error *other_stop(struct tg_filter_model *model, struct tg_filter_process *process,
                                   const struct tg_event *event, enum tg_stop_trigger trigger, bool final,
                                   unsigned except)
{
    unsigned follows = following_lane(model);
    tg_filter_process_note_stop(process, event->time_ns, event->tid);
    process->other_stop = true;
    process->trigger = trigger;
    if (follows & ~except && !process->is_due) {
        process->is_due = true;
        process->due_final = final;
        process->due_ns = event->time_ns;
        process->due_trigger = trigger;
    }
    return tg_filter_handle_waiting(model, process, trigger, event->time_ns, final, except | follows);
}

/* A hit is one, and a stop, only in the lanes in which the breakpoint is planted. */
static struct tg_error *add_hit(struct tg_filter_model *model, struct tg_filter_process *process,
                                const struct tg_event *event)
{
    unsigned without = tg_filter_process_lanes_without(process, event->breakpoint_hit.address);
    for (size_t index = 0; index < model->options.n_filters; index++) {
        model->lanes[index].outcome.hits++;
        model->lanes[index].outcome.missed_hits += (without >> index) & 1;
    }
    return other_stop(model, process, event, TG_TRIGGER_BREAKPOINT, false, without);
}

static struct tg_error *end_process(struct tg_filter_model *model, struct tg_filter_process *process)
{
    struct tg_error *due = handle_due(model, process);
    if (due != NULL)
        return due;
    tg_filter_drop_waiting(model, process);
    struct tg_error *error = model->options.keep_timelines ? tg_filter_keep_timelines(model, process) : NULL;
    HASH_DEL(model->processes, process);
    if (model->recent == process)
        model->recent = NULL;
    tg_filter_process_destroy(process, model->options.n_filters);
    return error;
}

static struct tg_error *find_process(struct tg_filter_model *model, const struct tg_event *event,
                                     struct tg_filter_process **found)
{
    struct tg_filter_process *process = model->recent;
    if (process == NULL || process->pid != event->pid)
        HASH_FIND(hh, model->processes, &event->pid, sizeof event->pid, process);
    if (process == NULL) {
        process = tg_filter_process_create(event->pid, model->options.n_filters, event->time_ns);
        if (process == NULL)
            return tg_error_no_memory();
        struct tg_error *error = TG_HASH_ADD(hh, model->processes, pid, process);
        if (error != NULL) {
            tg_filter_process_destroy(process, model->options.n_filters);
            return error;
        }
    }
    model->recent = process;
    *found = process;
    return NULL;
}

/* Ends an old process of the same pid; the fork is a stop for another reason of the parent. */
static struct tg_error *start_process(struct tg_filter_model *model, const struct tg_event *event)
{
    struct tg_filter_process *process = NULL;
    HASH_FIND(hh, model->processes, &event->pid, sizeof event->pid, process);
    struct tg_error *error = process != NULL ? end_process(model, process) : NULL;
    if (error == NULL)
        error = find_process(model, event, &process);
    int32_t parent_pid = (int32_t)event->process_start.parent_pid;
    struct tg_filter_process *parent = NULL;
    HASH_FIND(hh, model->processes, &parent_pid, sizeof parent_pid, parent);
    if (error != NULL || parent == NULL || parent == process)
        return error;
    error = tg_filter_process_inherit(process, parent);
    if (error != NULL)
        return error;
    struct tg_event stop = *event;
    stop.tid = 0; /* the forking thread is not known here */
    return other_stop(model, parent, &stop, TG_TRIGGER_FORK, false, 0);
}

/* A recorded handling implies a stop for another reason, whatever event the stop has. */
static struct tg_error *add_handled(struct tg_filter_model *model, struct tg_filter_process *process,
                                    const struct tg_event *event)
{
    uint64_t trigger = event->deferred_handled.trigger;
    bool final = trigger == TG_TRIGGER_DETACH || (trigger == TG_TRIGGER_EXIT && process->threads <= 1);
    if (trigger == TG_TRIGGER_REPORTED_EVENT || trigger > TG_TRIGGER_HALT)
        return NULL;
    struct tg_error *error = other_stop(model, process, event, (enum tg_stop_trigger)trigger, final, 0);
    return error != NULL ? error : handle_due(model, process);
}

/* A thread was stopped by live control: a stop for another reason. The recorded lane takes the recorded
 * handling, which may be of a breakpoint in the same stop. */
static struct tg_error *add_control_stop(struct tg_filter_model *model, struct tg_filter_process *process,
                                         const struct tg_event *event)
{
    size_t recorded = model->options.recorded_lane;
    return other_stop(model, process, event, TG_TRIGGER_HALT, false,
                      recorded < model->options.n_filters ? 1U << recorded : 0);
}

/* Switches the recorded lane to another setting. Waiting libraries go on waiting. */
static struct tg_error *follow_settings(struct tg_filter_model *model,
                                        const struct tg_event_filter_settings *settings)
{
    struct tg_dlopen_filter filter;
    if (!model->options.follows || model->options.recorded_lane >= model->options.n_filters)
        return NULL;
    struct tg_error *error = tg_dlopen_filter_init(&filter);
    if (error != NULL)
        return error;
    error = tg_dlopen_filter_set(&filter, settings->mode == TG_FILTER_SLOW, settings->match);
    if (error != NULL) {
        tg_dlopen_filter_deinit(&filter);
        return error;
    }
    struct tg_lane *lane = &model->lanes[model->options.recorded_lane];
    tg_dlopen_filter_deinit(&model->followed);
    model->followed = filter;
    lane->filter = &model->followed;
    tg_verdict_cache_deinit(&lane->verdicts);
    lane->verdicts = (struct tg_verdict_cache){.list = model->followed.list};
    return NULL;
}

static struct tg_error *dispatch(struct tg_filter_model *model, struct tg_filter_process *process,
                                 const struct tg_event *event)
{
    unsigned kind = event->kind;
    switch (kind) {
    case TG_EVENT_LIBRARY_LOAD:
        return tg_filter_add_load(model, process, event);
    case TG_EVENT_LIBRARY_NULL:
        tg_filter_add_loader_stop(model, process, event, true);
        return NULL;
    case TG_EVENT_LIBRARY_UNLOAD:
        return tg_filter_add_unload(model, process, event);
    case TG_EVENT_BREAKPOINT_PLANTED:
        return add_planted(model, process, &event->breakpoint_planted);
    case TG_EVENT_BREAKPOINT_REMOVED:
        tg_filter_process_unplant(process, event->breakpoint_removed.address);
        return NULL;
    case TG_EVENT_BREAKPOINT_HIT:
        return add_hit(model, process, event);
    case TG_EVENT_WATCH_HIT:
        return other_stop(model, process, event, TG_TRIGGER_BREAKPOINT, false, 0);
    case TG_EVENT_PROGRAM:
        return add_program(model, &event->program);
    case TG_EVENT_ENTRY:
        return other_stop(model, process, event, TG_TRIGGER_ENTRY, false, 0);
    case TG_EVENT_SIGNAL:
        return other_stop(model, process, event, TG_TRIGGER_SIGNAL, false, 0);
    case TG_EVENT_GROUP_STOP:
        return other_stop(model, process, event, TG_TRIGGER_GROUP_STOP, false, 0);
    case TG_EVENT_THREAD_START:
        process->threads++;
        return other_stop(model, process, event, TG_TRIGGER_THREAD, false, 0);
    case TG_EVENT_THREAD_EXIT:
        process->threads--;
        return other_stop(model, process, event, TG_TRIGGER_EXIT, process->threads <= 0, 0);
    case TG_EVENT_DETACH:
        return other_stop(model, process, event, TG_TRIGGER_DETACH, true, 0);
    case TG_EVENT_CONTROL_STOPPED:
        return add_control_stop(model, process, event);
    case TG_EVENT_DEFERRED_HANDLED:
        return add_handled(model, process, event);
    case TG_EVENT_EXEC:
        tg_filter_drop_waiting(model, process);
        process->threads = 1;
        process->by_agent = false;
        process->loader_ns = 0;
        process->started = false;
        tg_filter_process_note_stop(process, event->time_ns, event->tid);
        return NULL;
    case TG_EVENT_IDENTITY:
        process->rank = event->identity.rank;
        return NULL;
    case TG_EVENT_MPI_ENTER:
        process->made_mpi_calls = true;
        return NULL;
    default:
        return NULL;
    }
}

struct tg_error *tg_filter_model_add(struct tg_filter_model *model, const struct tg_event *event)
{
    tg_pace_add(&model->pace, event);
    if (event->kind == TG_EVENT_FILTER_SETTINGS)
        return follow_settings(model, &event->filter_settings);
    if (event->pid == 0)
        return NULL;
    if (event->kind == TG_EVENT_PROCESS_START)
        return start_process(model, event);
    struct tg_filter_process *process = NULL;
    struct tg_error *error = find_process(model, event, &process);
    if (error == NULL && event->time_ns != process->due_ns)
        error = handle_due(model, process);
    if (error != NULL)
        return error;
    if (event->kind == TG_EVENT_PROCESS_EXIT) {
        process->last_ns = event->time_ns;
        if (event->process_exit.how != TG_EXIT_LOST)
            error = other_stop(model, process, event, TG_TRIGGER_EXIT, true, 0);
        return error != NULL ? error : end_process(model, process);
    }
    error = dispatch(model, process, event);
    if (event->time_ns > process->last_ns)
        process->last_ns = event->time_ns;
    if (event->stop_ns > 0)
        process->stopped_ns += event->stop_ns + tg_cost_hidden_ns(model->basis, model->pace.sparse).median;
    return error;
}

struct tg_error *tg_filter_model_finish(struct tg_filter_model *model)
{
    struct tg_filter_process *process, *next;
    HASH_ITER (hh, model->processes, process, next) {
        struct tg_error *error = end_process(model, process);
        if (error != NULL)
            return error;
    }
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane *lane = &model->lanes[index];
        tg_cost_add_waiting(model->basis, model->pace.looked_ns, &lane->outcome.cost);
        lane->outcome.cost.is_partial = model->options.survey->unseen && !lane->fast;
    }
    return NULL;
}
