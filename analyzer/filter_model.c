#include "analyzer/filter_model.h"

#include "analyzer/filter_process.h"
#include "analyzer/verdict_cache.h"

#include <stdlib.h>
#include <string.h>

/* Namespaces from here on are treated as one; the recorder tells no more apart either. */
enum { LAST_NAMESPACE = 63 };

struct lane {
    const struct tg_dlopen_filter *filter;
    struct tg_verdict_cache verdicts;
    struct tg_filter_outcome outcome;
    struct tg_timeline *timelines; /* of processes that ended: [0, n_timelines) of the model */
};

struct tg_filter_model {
    struct tg_filter_model_options options;
    const struct tg_cost_basis *basis;
    struct tg_filter_process *processes;   /* uthash by pid */
    struct tg_filter_process *recent;      /* the latest one asked for, NULL none */
    struct tg_catalog_library **libraries; /* of the event in hand */
    const char **paths;                    /* of the prediction in hand */
    size_t libraries_capacity, paths_capacity;
    size_t n_timelines, timelines_capacity;
    bool timelines_of_ranks;
    struct lane lanes[];
};

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
        struct lane *lane = &new->lanes[i];
        lane->filter = &options->filters[i];
        lane->verdicts.list = lane->filter->list;
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
        struct lane *lane = &model->lanes[i];
        tg_verdict_cache_deinit(&lane->verdicts);
        for (size_t t = 0; t < model->n_timelines; t++)
            tg_timeline_deinit(&lane->timelines[t]);
        free(lane->timelines);
        free(lane->outcome.goals);
    }
    free(model->libraries);
    free(model->paths);
    free(model);
}

const struct tg_filter_outcome *tg_filter_model_outcome(const struct tg_filter_model *model, size_t lane)
{
    return &model->lanes[lane].outcome;
}

const struct tg_timeline *tg_filter_model_timelines(const struct tg_filter_model *model, size_t lane,
                                                    size_t *count)
{
    *count = model->n_timelines;
    return model->lanes[lane].timelines;
}

/* ---- breakpoints ---- */

enum fate { IN_TIME, LATE, NEVER };

static void count_planting(struct tg_planting *planting, enum fate fate, uint64_t window_ns)
{
    planting->in_time += fate == IN_TIME;
    planting->late += fate == LATE;
    planting->never += fate == NEVER;
    if (fate == LATE && window_ns > planting->worst_window_ns)
        planting->worst_window_ns = window_ns;
}

static void plant_goals(struct lane *lane, const struct tg_catalog_library *library, enum fate fate,
                        uint64_t window_ns)
{
    for (uint32_t i = 0; i < library->n_goals; i++) {
        count_planting(&lane->outcome.goals[library->goals[i]], fate, window_ns);
        count_planting(&lane->outcome.planting, fate, window_ns);
    }
}

static const struct tg_catalog_library *library_at(const struct tg_filter_model *model, uint32_t id)
{
    return tg_library_catalog_at(model->options.survey->catalog, id);
}

/* ---- costs and client requests ---- */

/* A client handles LIBRARIES now: COST is its work, by which the program stands still. */
static struct tg_error *request_client(struct tg_filter_model *model, struct tg_filter_process *process,
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
    return model->options.predict(model->options.context, prediction);
}

static struct tg_error *reserve_paths(struct tg_filter_model *model, size_t count)
{
    if (count <= model->paths_capacity)
        return NULL;
    const char **paths = reallocarray(model->paths, count, sizeof *paths);
    if (paths == NULL)
        return tg_error_no_memory();
    model->paths = paths;
    model->paths_capacity = count;
    return NULL;
}

static struct tg_error *predict_decision(struct tg_filter_model *model,
                                         const struct tg_filter_process *process, size_t index,
                                         uint64_t time_ns, size_t count,
                                         const struct tg_filter_prediction *decided)
{
    struct tg_error *error = reserve_paths(model, count);
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

/* In fast mode the libraries of several dlopens show at once: one load event for each namespace, as a run's.
 */
static struct tg_error *predict_catch_up(struct tg_filter_model *model,
                                         const struct tg_filter_process *process, size_t index,
                                         uint64_t time_ns, uint64_t *events)
{
    const struct tg_pending_log *log = &process->log;
    uint64_t bit = UINT64_C(1) << index;
    struct tg_error *error = reserve_paths(model, log->count);
    unsigned done = 0;
    bool first = true;
    *events = 0;
    while (error == NULL) {
        unsigned next = LAST_NAMESPACE + 1;
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
                model->paths[count++] = library_at(model, item->library)->path;
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

/* Takes everything that waits in the lane out of the log, and counts the fate of its breakpoints. */
static void settle(struct tg_filter_model *model, struct tg_filter_process *process, size_t index,
                   enum fate fate, uint64_t time_ns)
{
    struct lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &process->waits[index];
    uint16_t bit = (uint16_t)(1U << index);
    for (size_t i = wait->first; wait->libraries > 0 && i < process->log.count; i++) {
        struct tg_pending *item = &process->log.items[i];
        if (!(item->lanes & bit))
            continue;
        item->lanes &= (uint16_t)~bit;
        uint64_t window_ns = time_ns > item->time_ns ? time_ns - item->time_ns : 0;
        plant_goals(lane, library_at(model, item->library), fate, window_ns);
    }
    wait->first = process->log.count;
    wait->events = wait->libraries = wait->handle_ns = wait->unmeasured = wait->read_ns = 0;
}

static void waiting_cost(const struct tg_filter_model *model, const struct tg_lane_wait *wait,
                         struct tg_cost *cost)
{
    cost->ns += wait->read_ns + wait->handle_ns;
    if (wait->unmeasured > 0)
        tg_cost_add_handling(model->basis, 0, wait->unmeasured, cost);
}

/* Deferred libraries that a client now handles, with COST on top of whatever comes with them. */
static struct tg_error *take_waiting(struct tg_filter_model *model, struct tg_filter_process *process,
                                     size_t index, enum tg_stop_trigger trigger, uint64_t time_ns, bool final,
                                     struct tg_cost *cost)
{
    struct lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &process->waits[index];
    struct tg_filter_prediction handling = {.kind = TG_PREDICTED_HANDLING,
                                            .lane = index,
                                            .trigger = trigger,
                                            .events = wait->events,
                                            .n_libraries = wait->libraries,
                                            .pattern = "",
                                            .library = ""};
    waiting_cost(model, wait, cost);
    lane->outcome.deferred_batches++;
    lane->outcome.deferred_libraries += wait->libraries;
    if (model->options.predict != NULL) {
        struct tg_error *error = NULL;
        if (lane->filter->mode == TG_FILTER_FAST)
            error = predict_catch_up(model, process, index, time_ns, &handling.events);
        if (error == NULL)
            error = predict(model, process, &handling, time_ns);
        if (error != NULL)
            return error;
    }
    settle(model, process, index, final ? NEVER : LATE, time_ns);
    return NULL;
}

/* A stop for another reason at TIME_NS: in every lane but those in EXCEPT whatever waits is handled. */
static struct tg_error *handle_waiting(struct tg_filter_model *model, struct tg_filter_process *process,
                                       enum tg_stop_trigger trigger, uint64_t time_ns, bool final,
                                       unsigned except)
{
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane_wait *wait = &process->waits[index];
        if (except & 1U << index || wait->events == 0)
            continue;
        if (wait->libraries == 0) { /* all unloaded again */
            settle(model, process, index, NEVER, time_ns);
            continue;
        }
        uint64_t libraries = wait->libraries;
        struct tg_cost cost = {0};
        struct tg_error *error = take_waiting(model, process, index, trigger, time_ns, final, &cost);
        if (error == NULL)
            error = request_client(model, process, index, time_ns, libraries, &cost);
        if (error != NULL)
            return error;
    }
    if (except == 0)
        tg_pending_log_clear(&process->log);
    for (size_t index = 0; except == 0 && index < model->options.n_filters; index++)
        process->waits[index].first = 0;
    return NULL;
}

/* What waits is never handled: the program image is gone. */
static void drop_waiting(struct tg_filter_model *model, struct tg_filter_process *process)
{
    for (size_t index = 0; index < model->options.n_filters; index++) {
        model->lanes[index].outcome.dropped_libraries += process->waits[index].libraries;
        settle(model, process, index, NEVER, 0);
        process->waits[index].first = 0;
    }
    tg_filter_process_forget_image(process);
}

/* ---- dlopen events ---- */

/* One dlopen event on its way through the lanes. */
struct dlopen {
    const struct tg_event *event;
    struct tg_filter_process *process;
    size_t count;      /* of the model's libraries */
    bool stop;         /* costs a loader stop wherever the loader is watched */
    uint64_t since_ns; /* when the program could use the libraries */
    unsigned deferred; /* lanes in which they wait */
    bool cuda;
};

static struct tg_error *gather_libraries(struct tg_filter_model *model, const struct tg_list *list)
{
    if (list->count > model->libraries_capacity) {
        struct tg_catalog_library **libraries =
            reallocarray(model->libraries, list->count, sizeof *libraries);
        if (libraries == NULL)
            return tg_error_no_memory();
        model->libraries = libraries;
        model->libraries_capacity = list->count;
    }
    const struct tg_library *items = list->items;
    for (uint64_t i = 0; i < list->count; i++) {
        struct tg_error *error =
            tg_library_catalog_intern(model->options.survey->catalog, items[i].path, &model->libraries[i]);
        if (error != NULL)
            return error;
    }
    return NULL;
}

/* Handling time of the event itself: measured, or 0 with UNMEASURED libraries to estimate. */
static uint64_t handling_ns(const struct tg_filter_model *model, const struct dlopen *dlopen,
                            uint64_t *unmeasured)
{
    uint64_t ns = dlopen->event->library_load.handle_ns;
    bool recorded =
        ns > 0 || (model->options.survey->has_settings && !model->options.survey->settings_changed &&
                   model->options.survey->mode == TG_FILTER_SLOW);
    *unmeasured = recorded ? 0 : dlopen->count;
    return ns;
}

/* The stop alone, without handling: that is the client's part. A measured stop's time contains it. */
static void add_stop_cost(const struct tg_filter_model *model, const struct dlopen *dlopen,
                          struct tg_lane_wait *wait, struct tg_cost *total)
{
    const struct tg_event *event = dlopen->event;
    bool loader = event->library_load.found == TG_FOUND_LOADER;
    struct tg_cost cost = {0};
    if (dlopen->stop)
        tg_cost_add_stop(model->basis, loader ? event->stop_ns : 0, &cost);
    if (!loader)
        cost.ns += event->library_load.read_ns;
    tg_cost_add(&cost, total);
    wait->overhead_ns += cost.ns;
    if (loader && (event->stop_ns > 0 || !dlopen->stop)) {
        uint64_t handle_ns = event->library_load.handle_ns;
        tg_cost_subtract(handle_ns, total);
        wait->overhead_ns -= handle_ns < wait->overhead_ns ? handle_ns : wait->overhead_ns;
    }
}

static void defer(struct tg_filter_model *model, struct dlopen *dlopen, size_t index)
{
    struct lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &dlopen->process->waits[index];
    uint64_t unmeasured = 0;
    uint64_t handle_ns = handling_ns(model, dlopen, &unmeasured);
    lane->outcome.deferred++;
    lane->outcome.defers_cuda |= dlopen->cuda;
    wait->events++;
    wait->libraries += dlopen->count;
    wait->handle_ns += handle_ns;
    wait->unmeasured += unmeasured;
    if (lane->filter->mode == TG_FILTER_FAST)
        wait->read_ns += dlopen->event->library_load.read_ns;
    dlopen->deferred |= 1U << index;
}

static struct tg_error *report(struct tg_filter_model *model, struct dlopen *dlopen, size_t index)
{
    struct lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &dlopen->process->waits[index];
    uint64_t time_ns = dlopen->event->time_ns;
    uint64_t libraries = dlopen->count + wait->libraries;
    uint64_t unmeasured = 0;
    struct tg_cost cost = {.ns = handling_ns(model, dlopen, &unmeasured)};
    if (unmeasured > 0)
        tg_cost_add_handling(model->basis, 0, unmeasured, &cost);
    lane->outcome.reported++;
    for (size_t i = 0; i < dlopen->count; i++)
        plant_goals(lane, model->libraries[i], IN_TIME, 0);
    struct tg_error *error = NULL;
    if (wait->libraries > 0)
        error = take_waiting(model, dlopen->process, index, TG_TRIGGER_REPORTED_EVENT, time_ns, false, &cost);
    else
        settle(model, dlopen->process, index, NEVER, time_ns);
    return error != NULL ? error : request_client(model, dlopen->process, index, time_ns, libraries, &cost);
}

static struct tg_error *decide(struct tg_filter_model *model, struct lane *lane, const struct dlopen *dlopen,
                               struct tg_filter_prediction *prediction)
{
    prediction->decision = TG_DECISION_REPORTED;
    prediction->rule = TG_RULE_ALWAYS_RECALCULATE;
    prediction->pattern = prediction->library = "";
    if (lane->filter->mode == TG_FILTER_SLOW)
        return NULL;
    struct tg_glob_verdict verdict;
    struct tg_error *error =
        tg_verdict_cache_decide(&lane->verdicts, model->libraries, dlopen->count, &verdict);
    if (error != NULL)
        return error;
    prediction->decision = verdict.report ? TG_DECISION_REPORTED : TG_DECISION_DEFERRED;
    prediction->rule = verdict.rule;
    if (verdict.rule == TG_RULE_PATTERN) {
        prediction->pattern = tg_glob_list_pattern(lane->filter->list, verdict.pattern);
        prediction->library = model->libraries[verdict.library]->path;
    }
    return NULL;
}

static struct tg_error *pass_lane(struct tg_filter_model *model, struct dlopen *dlopen, size_t index)
{
    struct lane *lane = &model->lanes[index];
    if (lane->filter->mode == TG_FILTER_FAST) {
        defer(model, dlopen, index);
        return NULL;
    }
    struct tg_filter_prediction prediction = {0};
    struct tg_error *error = decide(model, lane, dlopen, &prediction);
    if (error == NULL && model->options.predict != NULL)
        error = predict_decision(model, dlopen->process, index, dlopen->event->time_ns, dlopen->count,
                                 &prediction);
    if (error != NULL)
        return error;
    add_stop_cost(model, dlopen, &dlopen->process->waits[index], &lane->outcome.cost);
    lane->outcome.stops += dlopen->stop;
    if (prediction.decision == TG_DECISION_REPORTED)
        return report(model, dlopen, index);
    defer(model, dlopen, index);
    return NULL;
}

static struct tg_error *log_waiting(struct tg_filter_model *model, const struct dlopen *dlopen)
{
    struct tg_filter_process *process = dlopen->process;
    const struct tg_event_library_load *load = &dlopen->event->library_load;
    const struct tg_library *items = load->libraries.items;
    process->load_first = process->log.count;
    process->load_epoch = process->log.epoch;
    for (size_t i = 0; dlopen->deferred != 0 && i < dlopen->count; i++) {
        struct tg_pending item = {
            .time_ns = dlopen->since_ns,
            .link_map = items[i].link_map,
            .library = model->libraries[i]->id,
            .lanes = (uint16_t)dlopen->deferred,
            .namespace_index =
                load->namespace_index < LAST_NAMESPACE ? (uint16_t)load->namespace_index : LAST_NAMESPACE,
        };
        struct tg_error *error = tg_pending_log_append(&process->log, &item);
        if (error != NULL)
            return error;
    }
    return NULL;
}

/* Whether EVENT begins a loader stop, rather than being a further event of one. */
static bool is_new_loader_stop(struct tg_filter_process *process, const struct tg_event *event)
{
    bool again = process->loader_ns == event->time_ns && process->loader_tid == event->tid &&
                 event->stop_ns == 0 && event->time_ns != 0;
    process->loader_ns = event->time_ns;
    process->loader_tid = event->tid;
    return !again;
}

static void plant_at_startup(struct tg_filter_model *model, size_t count)
{
    for (size_t index = 0; index < model->options.n_filters; index++)
        for (size_t i = 0; i < count; i++)
            plant_goals(&model->lanes[index], model->libraries[i], IN_TIME, 0);
}

static struct tg_error *add_load(struct tg_filter_model *model, struct tg_filter_process *process,
                                 const struct tg_event *event)
{
    const struct tg_event_library_load *load = &event->library_load;
    struct tg_error *error = gather_libraries(model, &load->libraries);
    if (error != NULL)
        return error;
    struct dlopen dlopen = {
        .event = event, .process = process, .count = load->libraries.count, .since_ns = event->time_ns};
    if (!tg_library_load_is_dlopen(load)) {
        plant_at_startup(model, dlopen.count);
        return NULL;
    }
    process->has_dlopens = true;
    bool caught_up = load->found == TG_FOUND_CATCH_UP;
    if (load->found == TG_FOUND_LOADER) {
        dlopen.stop = is_new_loader_stop(process, event);
        tg_filter_process_note_stop(process, event->time_ns, event->tid);
    } else {
        dlopen.stop = true;
    }
    if (caught_up)
        dlopen.since_ns = tg_filter_process_unseen_since(process, event->time_ns);
    for (size_t i = 0; i < dlopen.count; i++)
        dlopen.cuda |= model->libraries[i]->cuda;
    for (size_t index = 0; error == NULL && index < model->options.n_filters; index++)
        error = pass_lane(model, &dlopen, index);
    if (error == NULL)
        error = log_waiting(model, &dlopen);
    /* found at another stop: handled there too, unless that stop's own event is still to come */
    if (error == NULL && caught_up && process->other_stop && process->stop_ns == event->time_ns)
        error = handle_waiting(model, process, process->trigger, event->time_ns, false, 0);
    return error;
}

/* ---- other events ---- */

static void add_loader_stop(struct tg_filter_model *model, struct tg_filter_process *process,
                            const struct tg_event *event, bool null)
{
    if (!is_new_loader_stop(process, event))
        return;
    tg_filter_process_note_stop(process, event->time_ns, event->tid);
    struct tg_cost cost = {0};
    tg_cost_add_stop(model->basis, event->stop_ns, &cost);
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct lane *lane = &model->lanes[index];
        if (lane->filter->mode == TG_FILTER_FAST)
            continue;
        lane->outcome.stops++;
        lane->outcome.null_stops += null;
        lane->outcome.unload_stops += !null;
        tg_cost_add(&cost, &lane->outcome.cost);
        process->waits[index].overhead_ns += cost.ns;
    }
}

static void add_unload(struct tg_filter_model *model, struct tg_filter_process *process,
                       const struct tg_event *event)
{
    const struct tg_event_library_unload *unload = &event->library_unload;
    const struct tg_library *items = unload->libraries.items;
    if (unload->found == TG_FOUND_LOADER || unload->found == TG_FOUND_AGENT)
        add_loader_stop(model, process, event, false);
    for (uint64_t i = 0; i < unload->libraries.count; i++) {
        struct tg_pending *item = tg_pending_log_find(&process->log, items[i].link_map);
        for (size_t index = 0; item != NULL && index < model->options.n_filters; index++) {
            if (!(item->lanes & 1U << index))
                continue;
            process->waits[index].libraries--;
            model->lanes[index].outcome.dropped_libraries++;
            plant_goals(&model->lanes[index], library_at(model, item->library), NEVER, 0);
        }
        if (item != NULL)
            item->lanes = 0;
    }
}

/* Breakpoints in the program itself, or wherever no library event tells of: in time in every mode. */
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
    for (size_t index = 0; index < model->options.n_filters; index++) {
        count_planting(&model->lanes[index].outcome.goals[goal], IN_TIME, 0);
        count_planting(&model->lanes[index].outcome.planting, IN_TIME, 0);
    }
    return NULL;
}

static struct tg_error *other_stop(struct tg_filter_model *model, struct tg_filter_process *process,
                                   const struct tg_event *event, enum tg_stop_trigger trigger, bool final,
                                   unsigned except)
{
    tg_filter_process_note_stop(process, event->time_ns, event->tid);
    process->other_stop = true;
    process->trigger = trigger;
    return handle_waiting(model, process, trigger, event->time_ns, final, except);
}

static struct tg_error *keep_timelines(struct tg_filter_model *model, struct tg_filter_process *process);

static struct tg_error *end_process(struct tg_filter_model *model, struct tg_filter_process *process)
{
    drop_waiting(model, process);
    struct tg_error *error = model->options.keep_timelines ? keep_timelines(model, process) : NULL;
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
        HASH_ADD(hh, model->processes, pid, sizeof process->pid, process);
        if (process->hh.tbl == NULL) {
            tg_filter_process_destroy(process, model->options.n_filters);
            return tg_error_no_memory();
        }
    }
    model->recent = process;
    *found = process;
    return NULL;
}

/* A process begins: an old one of the same pid is over, its parent's stop at the fork is another stop. */
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
    struct tg_event stop = *event;
    stop.tid = 0; /* which thread forked is not known here */
    return other_stop(model, parent, &stop, TG_TRIGGER_FORK, false, 0);
}

/* A recorded handling shows a stop for another reason, whatever that stop's own event is. */
static struct tg_error *add_handled(struct tg_filter_model *model, struct tg_filter_process *process,
                                    const struct tg_event *event)
{
    uint64_t trigger = event->deferred_handled.trigger;
    if (trigger == TG_TRIGGER_REPORTED_EVENT || trigger > TG_TRIGGER_GROUP_STOP)
        return NULL;
    return other_stop(model, process, event, (enum tg_stop_trigger)trigger, false, 0);
}

static struct tg_error *dispatch(struct tg_filter_model *model, struct tg_filter_process *process,
                                 const struct tg_event *event)
{
    unsigned kind = event->kind;
    switch (kind) {
    case TG_EVENT_LIBRARY_LOAD:
        return add_load(model, process, event);
    case TG_EVENT_LIBRARY_NULL:
        add_loader_stop(model, process, event, true);
        return NULL;
    case TG_EVENT_LIBRARY_UNLOAD:
        add_unload(model, process, event);
        return NULL;
    case TG_EVENT_BREAKPOINT_PLANTED:
        return add_planted(model, process, &event->breakpoint_planted);
    case TG_EVENT_BREAKPOINT_REMOVED:
        tg_filter_process_unplant(process, event->breakpoint_removed.address);
        return NULL;
    case TG_EVENT_BREAKPOINT_HIT:
        return other_stop(model, process, event, TG_TRIGGER_BREAKPOINT, false,
                          tg_filter_process_lanes_without(process, event->breakpoint_hit.address));
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
        return other_stop(model, process, event, TG_TRIGGER_DETACH, false, 0);
    case TG_EVENT_DEFERRED_HANDLED:
        return add_handled(model, process, event);
    case TG_EVENT_EXEC:
        drop_waiting(model, process);
        process->threads = 1;
        tg_filter_process_note_stop(process, event->time_ns, event->tid);
        return NULL;
    case TG_EVENT_IDENTITY:
        process->rank = event->identity.rank;
        return NULL;
    default:
        return NULL;
    }
}

struct tg_error *tg_filter_model_add(struct tg_filter_model *model, const struct tg_event *event)
{
    if (event->pid == 0)
        return NULL;
    if (event->kind == TG_EVENT_PROCESS_START)
        return start_process(model, event);
    struct tg_filter_process *process = NULL;
    struct tg_error *error = find_process(model, event, &process);
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
        process->stopped_ns += event->stop_ns + tg_cost_hidden_ns(model->basis);
    return error;
}

/* ---- timelines ---- */

static struct tg_error *reserve_timelines(struct tg_filter_model *model)
{
    if (model->n_timelines < model->timelines_capacity)
        return NULL;
    size_t capacity = model->timelines_capacity == 0 ? 16 : model->timelines_capacity * 2;
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct lane *lane = &model->lanes[index];
        struct tg_timeline *timelines = reallocarray(lane->timelines, capacity, sizeof *timelines);
        if (timelines == NULL)
            return tg_error_no_memory();
        lane->timelines = timelines;
    }
    model->timelines_capacity = capacity;
    return NULL;
}

/* The process has ended: its timelines move to the lanes, if it is one of those that are kept. */
static struct tg_error *keep_timelines(struct tg_filter_model *model, struct tg_filter_process *process)
{
    bool rank = process->rank >= 0;
    if (!process->has_dlopens || (model->timelines_of_ranks && !rank))
        return NULL;
    if (rank && !model->timelines_of_ranks) { /* the first rank: launchers before it do not count */
        for (size_t index = 0; index < model->options.n_filters; index++)
            for (size_t i = 0; i < model->n_timelines; i++)
                tg_timeline_deinit(&model->lanes[index].timelines[i]);
        model->n_timelines = 0;
        model->timelines_of_ranks = true;
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

struct tg_error *tg_filter_model_finish(struct tg_filter_model *model)
{
    struct tg_filter_process *process, *next;
    HASH_ITER (hh, model->processes, process, next) {
        struct tg_error *error = end_process(model, process);
        if (error != NULL)
            return error;
    }
    return NULL;
}
