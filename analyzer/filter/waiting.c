#include "analyzer/filter/model_internal.h"
#include "format/base/array.h"

#include <stdlib.h>

/* ---- breakpoints ---- */

void tg_planting_count(struct tg_planting *planting, enum tg_goal_fate fate, uint64_t window_ns)
{
    planting->in_time += fate == TG_FATE_IN_TIME;
    planting->late += fate == TG_FATE_LATE;
    planting->never += fate == TG_FATE_NEVER;
    if (fate == TG_FATE_LATE && window_ns > planting->worst_window_ns)
        planting->worst_window_ns = window_ns;
}

void tg_lane_plant_goals(struct tg_lane *lane, const struct tg_catalog_library *library,
                         enum tg_goal_fate fate, uint64_t window_ns)
{
    for (uint32_t i = 0; i < library->n_goals; i++) {
        struct tg_planting *of_goal = &lane->outcome.goals[library->goals[i].goal];
        bool certain = library->goals[i].certain;
        if (certain) {
            tg_planting_count(of_goal, fate, window_ns);
            tg_planting_count(&lane->outcome.planting, fate, window_ns);
        }
        of_goal->unknown += !certain && fate != TG_FATE_IN_TIME;
        lane->outcome.planting.unknown += !certain && fate != TG_FATE_IN_TIME;
    }
}

const struct tg_catalog_library *tg_filter_library_at(const struct tg_filter_model *model, uint32_t id)
{
    return tg_library_catalog_at(model->options.survey->catalog, id);
}

/* ---- costs and client requests ---- */

struct tg_error *tg_lane_request_client(struct tg_filter_model *model, struct tg_filter_process *process,
                                        size_t index, uint64_t time_ns, uint64_t libraries,
                                        const struct tg_cost *cost)
{
    struct tg_filter_outcome *outcome = &model->lanes[index].outcome;
    struct tg_lane_wait *wait = &process->waits[index];
    outcome->round_trips++;
    outcome->handled_libraries += libraries;
    if (libraries > outcome->max_batch)
        outcome->max_batch = libraries;
    tg_cost_add(cost, &outcome->cost);
    if (!model->options.keep_timelines)
        return NULL;
    uint64_t run_ns = tg_filter_process_run_ns(process, time_ns);
    struct tg_timeline_request request = {
        .run_ns = run_ns > wait->run_until_ns ? run_ns - wait->run_until_ns : 0,
        .overhead_ns = wait->overhead_ns,
        .service_ns = cost->ns,
    };
    wait->overhead_ns = 0;
    if (run_ns > wait->run_until_ns)
        wait->run_until_ns = run_ns;
    return tg_timeline_append(&wait->timeline, &request);
}

/* ---- predictions ---- */

static struct tg_error *predict(struct tg_filter_model *model, const struct tg_filter_process *process,
                                struct tg_filter_prediction *prediction, uint64_t time_ns)
{
    prediction->time_ns = time_ns;
    prediction->pid = process->pid;
    prediction->rank = process->rank;
    prediction->by_agent = process->by_agent;
    return model->options.predict(model->options.context, prediction);
}

struct tg_error *tg_lane_predict_decision(struct tg_filter_model *model,
                                          const struct tg_filter_process *process, size_t index,
                                          uint64_t time_ns, size_t count,
                                          const struct tg_filter_prediction *decided)
{
    struct tg_error *error = TG_ARRAY_RESERVE(model->paths, model->paths_capacity, count);
    if (error != NULL)
        return error;
    for (size_t i = 0; i < count; i++)
        model->paths[i] = model->libraries[i]->path;
    struct tg_filter_prediction prediction = *decided;
    prediction.kind = TG_PREDICTED_DECISION;
    prediction.lane = index;
    prediction.n_libraries = count;
    prediction.libraries = model->paths;
    return predict(model, process, &prediction, time_ns);
}

/* In fast mode the libraries of several dlopens are found at once: as in a real run, one load event for each
 * namespace. */
static struct tg_error *predict_catch_up(struct tg_filter_model *model,
                                         const struct tg_filter_process *process, size_t index,
                                         uint64_t time_ns, uint64_t *events)
{
    const struct tg_pending_log *log = &process->log;
    uint64_t bit = UINT64_C(1) << index;
    struct tg_error *error = TG_ARRAY_RESERVE(model->paths, model->paths_capacity, log->count);
    unsigned done = 0;
    bool first = true;
    *events = 0;
    while (error == NULL) {
        unsigned next = TG_FILTER_LAST_NAMESPACE + 1;
        size_t count = 0;
        for (size_t i = process->waits[index].first; i < log->count; i++) {
            const struct tg_pending *item = &log->items[i];
            if (!(item->lanes & bit) || (!first && item->namespace_index <= done))
                continue;
            if (item->namespace_index < next) {
                next = item->namespace_index;
                count = 0;
            }
            if (item->namespace_index == next)
                model->paths[count++] = tg_filter_library_at(model, item->library)->path;
        }
        if (count == 0)
            return NULL;
        struct tg_filter_prediction prediction = {.kind = TG_PREDICTED_DECISION,
                                                  .lane = index,
                                                  .decision = TG_DECISION_NOT_STOPPED,
                                                  .rule = TG_RULE_NO_STOP,
                                                  .pattern = "",
                                                  .library = "",
                                                  .n_libraries = count,
                                                  .libraries = model->paths};
        error = predict(model, process, &prediction, time_ns);
        done = next;
        first = false;
        ++*events;
    }
    return error;
}

/* ---- what waits ---- */

void tg_lane_settle(struct tg_filter_model *model, struct tg_filter_process *process, size_t index,
                    enum tg_goal_fate fate, uint64_t time_ns)
{
    struct tg_lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &process->waits[index];
    uint16_t bit = (uint16_t)(1U << index);
    for (size_t i = wait->first; wait->libraries > 0 && i < process->log.count; i++) {
        struct tg_pending *item = &process->log.items[i];
        if (!(item->lanes & bit))
            continue;
        item->lanes &= (uint16_t)~bit;
        uint64_t window_ns = time_ns > item->time_ns ? time_ns - item->time_ns : 0;
        tg_lane_plant_goals(lane, tg_filter_library_at(model, item->library), fate, window_ns);
    }
    wait->first = process->log.count;
    wait->events = wait->libraries = wait->handle_ns = wait->read_ns = 0;
    wait->unmeasured = (struct tg_cost_libraries){0};
    wait->untold_ns = wait->unread = 0;
    wait->read_at_loads = (struct tg_cost_singly){0};
}

/* Adds the client's work on the waiting libraries to COST. Reading the lists (fast) is the tracer's work,
 * counted beside the process as in the stops of the other modes. At a process's end the lists are read,
 * but breakpoints no longer matter; where the agent decides and none is wanted, what waits is counted and not read. */
static void waiting_cost(const struct tg_filter_model *model, struct tg_lane *lane, struct tg_lane_wait *wait,
                         bool final, struct tg_cost *cost)
{
    if (final && lane->in_process && model->basis->no_search)
        return;
    tg_cost_add_ns(wait->read_ns - wait->read_at_loads.ns - wait->untold_ns, &lane->outcome.cost);
    tg_cost_add_reading(model->basis, wait->untold_ns, &wait->read_at_loads, &lane->outcome.cost);
    tg_cost_add_unread(model->basis, wait->unread, true, &lane->outcome.cost);
    wait->overhead_ns += wait->read_ns;
    if (final)
        return;
    tg_cost_add_ns(wait->handle_ns, cost);
    if (wait->unmeasured.count > 0)
        tg_cost_add_handling(model->basis, &wait->unmeasured, cost);
}

struct tg_error *tg_lane_take_waiting(struct tg_filter_model *model, struct tg_filter_process *process,
                                      size_t index, enum tg_stop_trigger trigger, uint64_t time_ns,
                                      bool final, struct tg_cost *cost)
{
    struct tg_lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &process->waits[index];
    struct tg_filter_prediction handling = {.kind = TG_PREDICTED_HANDLING,
                                            .lane = index,
                                            .trigger = trigger,
                                            .events = wait->events,
                                            .n_libraries = wait->libraries,
                                            .pattern = "",
                                            .library = ""};
    waiting_cost(model, lane, wait, final, cost);
    lane->outcome.deferred_batches++;
    lane->outcome.deferred_libraries += wait->libraries;
    if (model->options.predict != NULL) {
        struct tg_error *error = NULL;
        if (lane->fast)
            error = predict_catch_up(model, process, index, time_ns, &handling.events);
        if (error == NULL)
            error = predict(model, process, &handling, time_ns);
        if (error != NULL)
            return error;
    }
    tg_lane_settle(model, process, index, final ? TG_FATE_NEVER : TG_FATE_LATE, time_ns);
    return NULL;
}

struct tg_error *tg_filter_handle_waiting(struct tg_filter_model *model, struct tg_filter_process *process,
                                          enum tg_stop_trigger trigger, uint64_t time_ns, bool final,
                                          unsigned except)
{
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane_wait *wait = &process->waits[index];
        if (except & 1U << index || wait->events == 0)
            continue;
        if (wait->libraries == 0) { /* all unloaded again */
            tg_lane_settle(model, process, index, TG_FATE_NEVER, time_ns);
            continue;
        }
        uint64_t libraries = wait->libraries;
        struct tg_cost cost = {0};
        struct tg_error *error = tg_lane_take_waiting(model, process, index, trigger, time_ns, final, &cost);
        if (error == NULL)
            error = tg_lane_request_client(model, process, index, time_ns, libraries, &cost);
        if (error != NULL)
            return error;
    }
    bool waits = false;
    for (size_t index = 0; index < model->options.n_filters; index++)
        waits |= process->waits[index].events > 0;
    if (waits)
        return NULL;
    tg_pending_log_clear(&process->log);
    tg_pending_log_clear(&process->unloaded);
    for (size_t index = 0; index < model->options.n_filters; index++)
        process->waits[index].first = 0;
    return NULL;
}

void tg_filter_drop_waiting(struct tg_filter_model *model, struct tg_filter_process *process)
{
    for (size_t index = 0; index < model->options.n_filters; index++) {
        model->lanes[index].outcome.dropped_libraries += process->waits[index].libraries;
        tg_lane_settle(model, process, index, TG_FATE_NEVER, 0);
        process->waits[index].first = 0;
    }
    tg_filter_process_forget_image(process);
}

/* ---- timelines */

static struct tg_error *reserve_timelines(struct tg_filter_model *model)
{
    struct tg_error *error = NULL;
    for (size_t index = 0; error == NULL && index < model->options.n_filters; index++) {
        struct tg_lane *lane = &model->lanes[index];
        error = TG_ARRAY_RESERVE(lane->timelines, lane->timelines_capacity, model->n_timelines + 1);
    }
    return error;
}

struct tg_error *tg_filter_keep_timelines(struct tg_filter_model *model, struct tg_filter_process *process)
{
    enum tg_process_role role = tg_filter_process_role(process);
    if (!process->has_dlopens || role < model->timelines_of)
        return NULL;
    if (role > model->timelines_of) { /* the first rank: launchers and daemons before it are dropped */
        for (size_t index = 0; index < model->options.n_filters; index++)
            for (size_t i = 0; i < model->n_timelines; i++)
                tg_timeline_deinit(&model->lanes[index].timelines[i]);
        model->n_timelines = 0;
        model->timelines_of = role;
    }
    struct tg_error *error = reserve_timelines(model);
    if (error != NULL)
        return error;
    uint64_t run_ns = tg_filter_process_run_ns(process, process->last_ns);
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane_wait *wait = &process->waits[index];
        wait->timeline.tail_run_ns = run_ns > wait->run_until_ns ? run_ns - wait->run_until_ns : 0;
        wait->timeline.tail_overhead_ns = wait->overhead_ns;
        model->lanes[index].timelines[model->n_timelines] = wait->timeline;
        wait->timeline = (struct tg_timeline){0};
    }
    model->n_timelines++;
    return NULL;
}

const struct tg_timeline *tg_filter_model_timelines(const struct tg_filter_model *model, size_t lane,
                                                    size_t *count)
{
    *count = model->n_timelines;
    return model->lanes[lane].timelines;
}
