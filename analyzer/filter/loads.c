#include "analyzer/filter/model_internal.h"
#include "format/base/array.h"

enum { AUDITOR_STOPS = 2 }; /* at r_brk, when the auditor is loaded */

/* One dlopen event on its way through the lanes. */
struct dlopen {
    const struct tg_event *event;
    struct tg_filter_process *process;
    size_t count;      /* of the model's libraries */
    bool stop;         /* costs a loader stop in modes that watch the loader */
    uint64_t since_ns; /* when the program could use the libraries */
    unsigned deferred; /* lanes in which they wait */
    size_t n_again;    /* libraries that only a stop at their unload would have shown as changed */
    bool caught_up;    /* found at another stop than the loader's */
    bool by_agent;     /* recorded without a stop ... */
    bool in_process;   /* ... and decided about */
    bool cuda;
};

static struct tg_error *gather_libraries(struct tg_filter_model *model, const struct tg_list *list)
{
    struct tg_error *error = TG_ARRAY_RESERVE(model->libraries, model->libraries_capacity, list->count);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(model->again, model->again_capacity, list->count);
    const struct tg_library *items = list->items;
    for (uint64_t i = 0; error == NULL && i < list->count; i++)
        error =
            tg_library_catalog_intern(model->options.survey->catalog, items[i].path, &model->libraries[i]);
    return error;
}

/* The handling time of the event itself: measured, or 0 with UNMEASURED libraries to estimate. */
static uint64_t handling_ns(const struct tg_filter_model *model, const struct dlopen *dlopen,
                            struct tg_cost_libraries *unmeasured)
{
    uint64_t ns = dlopen->event->library_load.handle_ns;
    bool recorded =
        ns > 0 || (!dlopen->by_agent && model->options.survey->has_settings &&
                   !model->options.survey->settings_changed && model->options.survey->mode == TG_FILTER_SLOW);
    *unmeasured =
        recorded ? (struct tg_cost_libraries){0} : tg_library_load_extent(&dlopen->event->library_load);
    return ns;
}

/* Adds the stop alone. Handling is the client's part, but contained in a measured stop's time. */
static void add_stop_cost(const struct tg_filter_model *model, const struct dlopen *dlopen,
                          struct tg_lane_wait *wait, struct tg_cost *total)
{
    const struct tg_event *event = dlopen->event;
    bool loader = event->library_load.found == TG_FOUND_LOADER;
    struct tg_cost cost = {0};
    if (dlopen->stop)
        tg_cost_add_stop(model->basis, loader ? event->stop_ns : 0, &model->pace, &cost);
    if (dlopen->by_agent || dlopen->in_process)
        tg_cost_add_unread(model->basis, dlopen->count, false, &cost);
    else if (!loader)
        tg_cost_add_ns(event->library_load.read_ns, &cost);
    tg_cost_add(&cost, total);
    wait->overhead_ns += cost.ns;
    if (loader && (event->stop_ns > 0 || !dlopen->stop)) {
        uint64_t handle_ns = event->library_load.handle_ns;
        tg_cost_subtract(handle_ns, total);
        wait->overhead_ns -= handle_ns < wait->overhead_ns ? handle_ns : wait->overhead_ns;
    }
}

/* What finding libraries took: reading them and, where their stop was measured, telling of them as well, which takes less. */
static void note_reading(const struct dlopen *dlopen, struct tg_lane_wait *wait)
{
    const struct tg_event *event = dlopen->event;
    uint64_t read_ns = event->library_load.read_ns, handle_ns = event->library_load.handle_ns;
    uint64_t most_ns = read_ns + read_ns / 2;
    if (!dlopen->caught_up) {
        wait->read_at_loads.ns += read_ns;
        wait->read_at_loads.count += read_ns > 0 ? dlopen->count : 0;
    } else if (event->stop_ns < handle_ns + read_ns) {
        wait->untold_ns += read_ns;
    } else {
        read_ns = event->stop_ns - handle_ns < most_ns ? event->stop_ns - handle_ns : most_ns;
    }
    wait->read_ns += read_ns;
}

static void defer(struct tg_filter_model *model, struct dlopen *dlopen, size_t index)
{
    struct tg_lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &dlopen->process->waits[index];
    bool fast = lane->fast, reads_later = fast || lane->in_process;
    struct tg_cost_libraries unmeasured;
    uint64_t handle_ns = handling_ns(model, dlopen, &unmeasured);
    lane->outcome.deferred++;
    lane->outcome.defers_cuda |= dlopen->cuda;
    wait->events++;
    wait->libraries += dlopen->count - (fast ? dlopen->n_again : 0);
    for (size_t i = 0; fast && dlopen->n_again > 0 && i < dlopen->count; i++)
        if (model->again[i])
            tg_lane_plant_goals(lane, model->libraries[i], TG_FATE_NEVER, 0);
    wait->handle_ns += handle_ns;
    wait->unmeasured.count += unmeasured.count;
    wait->unmeasured.bytes += unmeasured.bytes;
    if (reads_later)
        note_reading(dlopen, wait);
    if (reads_later && (dlopen->by_agent || dlopen->in_process))
        wait->unread += dlopen->count;
    dlopen->deferred |= 1U << index;
}

static struct tg_error *report(struct tg_filter_model *model, struct dlopen *dlopen, size_t index)
{
    struct tg_lane *lane = &model->lanes[index];
    struct tg_lane_wait *wait = &dlopen->process->waits[index];
    uint64_t time_ns = dlopen->event->time_ns;
    uint64_t libraries = dlopen->count + wait->libraries;
    struct tg_cost_libraries unmeasured;
    struct tg_cost cost = {0};
    tg_cost_add_ns(handling_ns(model, dlopen, &unmeasured), &cost);
    if (unmeasured.count > 0)
        tg_cost_add_handling(model->basis, &unmeasured, &cost);
    lane->outcome.reported++;
    for (size_t i = 0; i < dlopen->count; i++)
        tg_lane_plant_goals(lane, model->libraries[i], TG_FATE_IN_TIME, 0);
    struct tg_error *error = NULL;
    if (wait->libraries > 0)
        error = tg_lane_take_waiting(model, dlopen->process, index, TG_TRIGGER_REPORTED_EVENT, time_ns, false,
                                     &cost);
    else
        tg_lane_settle(model, dlopen->process, index, TG_FATE_NEVER, time_ns);
    return error != NULL ? error
                         : tg_lane_request_client(model, dlopen->process, index, time_ns, libraries, &cost);
}

static struct tg_error *decide(struct tg_filter_model *model, struct tg_lane *lane,
                               const struct dlopen *dlopen, struct tg_filter_prediction *prediction)
{
    prediction->decision = TG_DECISION_REPORTED;
    prediction->rule = TG_RULE_ALWAYS_RECALCULATE;
    prediction->pattern = prediction->library = "";
    if (lane->filter->mode == TG_FILTER_SLOW)
        return NULL;
    if (lane->filter->mode == TG_FILTER_FAST) {
        prediction->decision = TG_DECISION_NOT_STOPPED;
        prediction->rule = TG_RULE_NO_STOP;
        return NULL;
    }
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

/* What the agent takes to decide. Of a load that the tracer told of it is in the next one that the agent tells of. */
static void add_agent_cost(struct tg_filter_model *model, const struct dlopen *dlopen, size_t index,
                           bool reported)
{
    struct tg_lane *lane = &model->lanes[index];
    const struct tg_event_library_load *load = &dlopen->event->library_load;
    bool in_next = load->found == TG_FOUND_LOADER && model->options.survey->agent_events > 0;
    tg_cost_add_agent(load->agent_ns, load->libraries.count, &lane->outcome.cost);
    dlopen->process->waits[index].overhead_ns += load->agent_ns;
    if (load->agent_ns == 0 && !in_next && !reported) /* what it would take is measured nowhere */
        lane->outcome.cost.unknown_readings += dlopen->count;
}

static struct tg_error *pass_lane(struct tg_filter_model *model, struct dlopen *dlopen, size_t index)
{
    struct tg_lane *lane = &model->lanes[index];
    if (lane->fast) {
        defer(model, dlopen, index);
        return NULL;
    }
    struct tg_filter_prediction prediction = {0};
    /* in the setting that was recorded, libraries found without a stop are found without one again */
    bool unstopped = dlopen->caught_up && index == model->options.recorded_lane;
    struct tg_error *error = decide(model, lane, dlopen, &prediction);
    if (unstopped) {
        prediction = (struct tg_filter_prediction){.pattern = "", .library = ""};
        prediction.decision = TG_DECISION_NOT_STOPPED;
        prediction.rule = TG_RULE_NO_STOP;
    }
    if (error == NULL && model->options.predict != NULL)
        error = tg_lane_predict_decision(model, dlopen->process, index, dlopen->event->time_ns, dlopen->count,
                                         &prediction);
    if (error != NULL)
        return error;
    if (!unstopped && (!lane->in_process || prediction.decision == TG_DECISION_REPORTED)) {
        add_stop_cost(model, dlopen, &dlopen->process->waits[index], &lane->outcome.cost);
        lane->outcome.stops += dlopen->stop;
    }
    if (lane->in_process)
        add_agent_cost(model, dlopen, index, prediction.decision == TG_DECISION_REPORTED);
    if (prediction.decision == TG_DECISION_REPORTED)
        return report(model, dlopen, index);
    defer(model, dlopen, index);
    return NULL;
}

static uint16_t clip_namespace(uint64_t index)
{
    return index < TG_FILTER_LAST_NAMESPACE ? (uint16_t)index : TG_FILTER_LAST_NAMESPACE;
}

static struct tg_error *log_waiting(struct tg_filter_model *model, const struct dlopen *dlopen)
{
    struct tg_filter_process *process = dlopen->process;
    const struct tg_event_library_load *load = &dlopen->event->library_load;
    const struct tg_library *items = load->libraries.items;
    struct tg_error *error = NULL;
    for (size_t i = 0; error == NULL && i < dlopen->count; i++) {
        bool again = dlopen->n_again > 0 && model->again[i];
        if (dlopen->deferred == 0) {
            error = tg_filter_process_note_load(process, model->libraries[i]->id, SIZE_MAX);
            continue;
        }
        struct tg_pending item = {
            .time_ns = dlopen->since_ns,
            .link_map = items[i].link_map,
            .library = model->libraries[i]->id,
            .lanes = (uint16_t)(dlopen->deferred & ~(again ? model->fast_lanes : 0)),
            .blind = (uint16_t)(again ? model->fast_lanes : 0),
            .namespace_index = clip_namespace(load->namespace_index),
        };
        error = tg_pending_log_append(&process->log, &item);
        if (error == NULL)
            error = tg_filter_process_note_load(process, model->libraries[i]->id, process->log.count - 1);
    }
    return error;
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

/* Until the program's start-up libraries are there, r_brk is watched where loads are decided about in the process as well; it
 * stops for the auditor's own load besides. */
static void add_auditor_stops(struct tg_filter_model *model, struct tg_filter_process *process, size_t index)
{
    struct tg_lane *lane = &model->lanes[index];
    struct tg_cost cost = {0};
    if (!lane->in_process)
        return;
    for (unsigned i = 0; i < AUDITOR_STOPS; i++)
        tg_cost_add_stop(model->basis, 0, &model->pace, &cost);
    lane->outcome.stops += AUDITOR_STOPS;
    lane->outcome.startup_stops += AUDITOR_STOPS;
    tg_cost_add(&cost, &lane->outcome.cost);
    process->waits[index].overhead_ns += cost.ns;
}

/* Libraries of the start-up are handled before the program's own code in every mode, without a dlopen
 * event. They cost a stop where the loader is watched, as a null event before them shows; the recorder's
 * own stop at the entry point does not count. */
static void add_startup(struct tg_filter_model *model, struct tg_filter_process *process,
                        const struct tg_event *event)
{
    const struct tg_event_library_load *load = &event->library_load;
    bool watched = event->stop_ns > 0 || process->loader_ns != 0;
    bool stop = load->found == TG_FOUND_STARTUP && watched && is_new_loader_stop(process, event);
    struct tg_cost cost = {0};
    struct tg_cost work = {0};
    tg_cost_add_ns(load->read_ns + load->handle_ns, &work);
    if (stop) {
        tg_filter_process_note_stop(process, event->time_ns, event->tid);
        tg_cost_add_stop(model->basis, event->stop_ns, &model->pace, &cost);
    }
    if (event->stop_ns == 0 && load->read_ns == 0 && tg_cost_has_price(model->basis)) { /* seen by an agent */
        tg_cost_add_unread(model->basis, load->libraries.count, true, &work);
        tg_cost_add_unread(model->basis, load->libraries.count, true, &cost);
    }
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane *lane = &model->lanes[index];
        bool fast = lane->fast;
        for (uint64_t i = 0; i < load->libraries.count; i++)
            tg_lane_plant_goals(lane, model->libraries[i], TG_FATE_IN_TIME, 0);
        if (load->found != TG_FOUND_STARTUP)
            continue;
        const struct tg_cost *spent = fast || !stop ? &work : &cost;
        lane->outcome.stops += stop && !fast;
        lane->outcome.startup_stops += stop && !fast;
        tg_cost_add(spent, &lane->outcome.cost);
        process->waits[index].overhead_ns += spent->ns;
        if (stop)
            add_auditor_stops(model, process, index);
    }
    process->started = true;
}

/* Finds the libraries that were loaded again at the address where they were unloaded since the last other
 * stop: at other stops the list looks unchanged. */
static void find_again(struct tg_filter_model *model, struct dlopen *dlopen)
{
    const struct tg_library *items = dlopen->event->library_load.libraries.items;
    uint16_t namespace_index = clip_namespace(dlopen->event->library_load.namespace_index);
    for (size_t i = 0; model->fast_lanes != 0 && dlopen->process->unloaded.count > 0 && i < dlopen->count;
         i++) {
        struct tg_pending *gone = tg_pending_log_find(&dlopen->process->unloaded, items[i].link_map);
        model->again[i] = gone != NULL && gone->lanes != 0 && gone->library == model->libraries[i]->id &&
                          gone->time_ns == items[i].base && gone->namespace_index == namespace_index;
        if (!model->again[i])
            continue;
        gone->lanes = 0;
        dlopen->n_again++;
    }
}

struct tg_error *tg_filter_add_load(struct tg_filter_model *model, struct tg_filter_process *process,
                                    const struct tg_event *event)
{
    const struct tg_event_library_load *load = &event->library_load;
    struct tg_error *error = gather_libraries(model, &load->libraries);
    if (error != NULL)
        return error;
    if (!tg_library_load_is_dlopen(load)) {
        add_startup(model, process, event);
        return NULL;
    }
    struct dlopen dlopen = {.event = event,
                            .process = process,
                            .count = load->libraries.count,
                            .stop = true,
                            .since_ns = event->time_ns,
                            .caught_up = load->found == TG_FOUND_CATCH_UP,
                            .by_agent = load->found == TG_FOUND_AGENT,
                            .in_process = load->found == TG_FOUND_IN_PROCESS};
    process->has_dlopens = true;
    process->by_agent = process->by_agent || dlopen.by_agent;
    if (load->found == TG_FOUND_LOADER || dlopen.by_agent || dlopen.in_process) {
        dlopen.stop = is_new_loader_stop(process, event);
        tg_filter_process_note_stop(process, event->time_ns, event->tid);
    }
    if (dlopen.caught_up)
        dlopen.since_ns = tg_filter_process_unseen_since(process, event->time_ns);
    for (size_t i = 0; i < dlopen.count; i++)
        dlopen.cuda |= model->libraries[i]->cuda;
    find_again(model, &dlopen);
    for (size_t index = 0; error == NULL && index < model->options.n_filters; index++)
        error = pass_lane(model, &dlopen, index);
    if (error == NULL)
        error = log_waiting(model, &dlopen);
    /* libraries found at another stop are handled there too; if the trace records handlings, an event
     * follows */
    if (error == NULL && dlopen.caught_up && model->options.survey->handlings == 0 && process->other_stop &&
        process->stop_ns == event->time_ns)
        error = tg_filter_handle_waiting(model, process, process->trigger, event->time_ns, false, 0);
    return error;
}

/* ---- loader stops and unloads ---- */

void tg_filter_add_loader_stop(struct tg_filter_model *model, struct tg_filter_process *process,
                               const struct tg_event *event, bool is_null)
{
    if (!is_new_loader_stop(process, event))
        return;
    tg_filter_process_note_stop(process, event->time_ns, event->tid);
    struct tg_cost cost = {0};
    tg_cost_add_stop(model->basis, event->stop_ns, &model->pace, &cost);
    for (size_t index = 0; index < model->options.n_filters; index++) {
        struct tg_lane *lane = &model->lanes[index];
        if (lane->fast || (lane->in_process && process->started))
            continue;
        lane->outcome.stops++;
        lane->outcome.null_stops += is_null;
        lane->outcome.unload_stops += !is_null;
        tg_cost_add(&cost, &lane->outcome.cost);
        process->waits[index].overhead_ns += cost.ns;
    }
}

/* Drops a library that is unloaded before it was handled. Returns whether it still waited in fast lanes. */
static bool drop_unloaded(struct tg_filter_model *model, struct tg_filter_process *process, uint64_t link_map,
                          uint32_t library)
{
    struct tg_pending *item = tg_pending_log_find(&process->log, link_map);
    if (item != NULL && item->library != library)
        item = NULL; /* another library, whose unload was not seen */
    unsigned lanes = item != NULL ? item->lanes : 0;
    for (size_t index = 0; lanes != 0 && index < model->options.n_filters; index++) {
        if (!(lanes & 1U << index))
            continue;
        process->waits[index].libraries--;
        model->lanes[index].outcome.dropped_libraries++;
        tg_lane_plant_goals(&model->lanes[index], tg_filter_library_at(model, item->library), TG_FATE_NEVER,
                            0);
    }
    if (item != NULL)
        item->lanes = 0;
    return lanes & model->fast_lanes;
}

struct tg_error *tg_filter_add_unload(struct tg_filter_model *model, struct tg_filter_process *process,
                                      const struct tg_event *event)
{
    const struct tg_event_library_unload *unload = &event->library_unload;
    const struct tg_library *items = unload->libraries.items;
    bool caught_up = unload->found == TG_FOUND_CATCH_UP;
    if (unload->found == TG_FOUND_LOADER || unload->found == TG_FOUND_AGENT)
        tg_filter_add_loader_stop(model, process, event, false);
    struct tg_error *error = gather_libraries(model, &unload->libraries);
    for (uint64_t i = 0; error == NULL && i < unload->libraries.count; i++) {
        bool unseen = drop_unloaded(model, process, items[i].link_map, model->libraries[i]->id);
        struct tg_pending gone = {.time_ns = items[i].base,
                                  .link_map = items[i].link_map,
                                  .library = model->libraries[i]->id,
                                  .lanes = 1,
                                  .namespace_index = clip_namespace(unload->namespace_index)};
        if (!unseen && !caught_up && model->fast_lanes != 0)
            error = tg_pending_log_append(&process->unloaded, &gone);
    }
    return error;
}
