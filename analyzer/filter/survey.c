#include "analyzer/filter/survey.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "format/settings/dlopen_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The libraries of a process in which the recorder has not looked for breakpoints yet. */
struct tg_survey_process {
    int32_t pid;
    struct unsearched {
        struct tg_catalog_library *library;
        uint64_t link_map, size_bytes;
    } * waiting;
    size_t count, capacity;
    UT_hash_handle hh;
};

struct tg_error *tg_filter_survey_init(struct tg_filter_survey *survey)
{
    *survey = (struct tg_filter_survey){.mode = TG_FILTER_SLOW, .match = strdup("")};
    if (survey->match == NULL)
        return tg_error_no_memory();
    return tg_library_catalog_create(&survey->catalog);
}

static void end_process(struct tg_filter_survey *survey, struct tg_survey_process *process)
{
    HASH_DEL(survey->processes, process);
    free(process->waiting);
    free(process);
}

void tg_filter_survey_deinit(struct tg_filter_survey *survey)
{
    struct tg_survey_process *process, *next;
    HASH_ITER (hh, survey->processes, process, next) {
        end_process(survey, process);
    }
    tg_break_goals_deinit(&survey->goals);
    tg_library_catalog_destroy(survey->catalog);
    free(survey->match);
    *survey = (struct tg_filter_survey){0};
}

static uint64_t saturated_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

bool tg_library_load_is_dlopen(const struct tg_event_library_load *load)
{
    return load->found == TG_FOUND_LOADER || load->found == TG_FOUND_CATCH_UP ||
           load->found == TG_FOUND_AGENT || load->found == TG_FOUND_IN_PROCESS;
}

struct tg_cost_libraries tg_library_load_extent(const struct tg_event_library_load *load)
{
    const struct tg_library *libraries = load->libraries.items;
    struct tg_cost_libraries extent = {.count = load->libraries.count};
    for (uint64_t i = 0; i < extent.count; i++)
        extent.bytes = saturated_add(extent.bytes, libraries[i].size_bytes);
    return extent;
}

/* A loader event: was its stop measured? */
static void count_stop(struct tg_filter_survey *survey, const struct tg_event *event)
{
    if (event->stop_ns > 0) {
        survey->basis.measured_stops++;
        survey->stop_time_ns = event->time_ns;
        survey->stop_tid = event->tid;
    } else if (survey->stop_time_ns != event->time_ns || survey->stop_tid != event->tid) {
        survey->basis.unmeasured_stops++;
    }
}

/* ---- where the recorder has looked for breakpoints */

static struct tg_survey_process *process_of(const struct tg_filter_survey *survey, int32_t pid)
{
    struct tg_survey_process *process = NULL;
    HASH_FIND(hh, survey->processes, &pid, sizeof pid, process);
    return process;
}

/* LIBRARY waits in process PID until a handling says that it was looked into. */
static struct tg_error *let_wait(struct tg_filter_survey *survey, int32_t pid,
                                 struct tg_catalog_library *library, const struct tg_library *loaded)
{
    struct tg_survey_process *process = process_of(survey, pid);
    struct unsearched item = {
        .library = library, .link_map = loaded->link_map, .size_bytes = loaded->size_bytes};
    struct tg_error *error =
        process == NULL ? TG_HASH_CREATE(hh, survey->processes, pid, &pid, process) : NULL;
    return error != NULL ? error : TG_ARRAY_APPEND(process->waiting, process->count, process->capacity, item);
}

static void note_handling(struct tg_cost_handling *measured, uint64_t ns, struct tg_cost_libraries of)
{
    if (ns == 0)
        return;
    measured->ns += ns;
    measured->of.count += of.count;
    measured->of.bytes = saturated_add(measured->of.bytes, of.bytes);
}

/* At a process's end what waits is handled in name only, in no time at all. */
static void add_handling(struct tg_filter_survey *survey, const struct tg_event *event)
{
    const struct tg_event_deferred_handled *handled = &event->deferred_handled;
    struct tg_survey_process *process = process_of(survey, event->pid);
    survey->handlings++;
    struct tg_cost_libraries of = {.count = handled->libraries};
    for (size_t i = 0; process != NULL && i < process->count; i++)
        of.bytes = saturated_add(of.bytes, process->waiting[i].size_bytes);
    note_handling(&survey->basis.dlopened, handled->handle_ns, of);
    for (size_t i = 0; process != NULL && handled->handle_ns > 0 && i < process->count; i++)
        process->waiting[i].library->searched = true;
    if (process != NULL && handled->handle_ns > 0)
        process->count = 0;
}

static void add_unload(struct tg_filter_survey *survey, const struct tg_event *event)
{
    struct tg_survey_process *process = process_of(survey, event->pid);
    const struct tg_list *gone = &event->library_unload.libraries;
    const struct tg_library *libraries = gone->items;
    size_t kept = 0;
    survey->unload_events++;
    if (process == NULL || process->count == 0)
        return;
    for (size_t i = 0; i < process->count; i++) {
        bool goes = false;
        for (uint64_t g = 0; !goes && g < gone->count; g++)
            goes = libraries[g].link_map == process->waiting[i].link_map;
        if (!goes)
            process->waiting[kept++] = process->waiting[i];
    }
    process->count = kept;
}

static struct tg_error *add_program(struct tg_filter_survey *survey, const struct tg_event_program *program)
{
    struct tg_catalog_library *library = NULL;
    struct tg_error *error = tg_library_catalog_intern(survey->catalog, program->path, &library);
    if (error != NULL)
        return error;
    library->programs++;
    return tg_library_catalog_note_build_id(library, program->build_id);
}

/* ---- loads */

static struct tg_error *add_load(struct tg_filter_survey *survey, const struct tg_event *event)
{
    const struct tg_event_library_load *load = &event->library_load;
    const struct tg_library *libraries = load->libraries.items;
    bool dlopen = tg_library_load_is_dlopen(load);
    bool at_once = !dlopen || load->handle_ns > 0;
    bool waits = !at_once && load->found != TG_FOUND_AGENT; /* of those nobody says when they are handled */
    for (uint64_t i = 0; i < load->libraries.count; i++) {
        struct tg_catalog_library *library = NULL;
        struct tg_error *error = tg_library_catalog_intern(survey->catalog, libraries[i].path, &library);
        if (error == NULL)
            error = tg_library_catalog_note_build_id(library, libraries[i].build_id);
        if (error == NULL && waits)
            error = let_wait(survey, event->pid, library, &libraries[i]);
        if (error != NULL)
            return error;
        library->dlopens += dlopen;
        library->startups += !dlopen;
        library->searched |= at_once;
        survey->cuda |= dlopen && library->cuda;
    }
    note_handling(dlopen ? &survey->basis.dlopened : &survey->basis.others, load->handle_ns,
                  tg_library_load_extent(load));
    if (!dlopen) {
        survey->startup_libraries += load->libraries.count;
        if (load->found == TG_FOUND_STARTUP && event->stop_ns > 0)
            count_stop(survey, event);
        return NULL;
    }
    survey->dlopen_events++;
    survey->libraries += load->libraries.count;
    survey->catch_up_events += load->found == TG_FOUND_CATCH_UP;
    survey->agent_events += load->found == TG_FOUND_AGENT || load->found == TG_FOUND_IN_PROCESS;
    survey->in_process_events += load->found == TG_FOUND_IN_PROCESS;
    if (load->found == TG_FOUND_LOADER)
        count_stop(survey, event);
    else
        survey->basis.unmeasured_stops++;
    return NULL;
}

static struct tg_error *add_settings(struct tg_filter_survey *survey,
                                     const struct tg_event_filter_settings *settings)
{
    enum tg_filter_mode mode =
        settings->mode <= TG_FILTER_FAST ? (enum tg_filter_mode)settings->mode : TG_FILTER_SLOW;
    survey->was_fast |= mode == TG_FILTER_FAST;
    if (survey->has_settings && mode == survey->mode && strcmp(survey->match, settings->match) == 0)
        return NULL;
    char *match = strdup(settings->match);
    if (match == NULL)
        return tg_error_no_memory();
    free(survey->match);
    survey->match = match;
    survey->mode = mode;
    survey->settings_changed = survey->has_settings;
    survey->has_settings = true;
    return NULL;
}

static struct tg_stop_cost price_of(const struct tg_event_stop_price *price)
{
    return (struct tg_stop_cost){
        .stop_ns = price->stop_median_ns,
        .tracer_ns = price->stop_median_ns > price->hidden_median_ns
                         ? price->stop_median_ns - price->hidden_median_ns
                         : 0,
        .samples = price->samples,
        .stop = {price->stop_low_ns, price->stop_median_ns, price->stop_high_ns},
        .hidden = {price->hidden_low_ns, price->hidden_median_ns, price->hidden_high_ns},
        .sparse_stop = {price->sparse_stop_low_ns, price->sparse_stop_median_ns, price->sparse_stop_high_ns},
        .sparse_hidden = {price->sparse_hidden_low_ns, price->sparse_hidden_median_ns,
                          price->sparse_hidden_high_ns},
        .read = {price->read_low_ns, price->read_median_ns, price->read_high_ns},
        .together_ns = price->together_ns,
    };
}

struct tg_error *tg_filter_survey_add(struct tg_filter_survey *survey, const struct tg_event *event)
{
    struct tg_error *error = NULL;
    unsigned kind = event->kind;
    survey->basis.stop_ns += event->stop_ns;
    switch (kind) {
    case TG_EVENT_TRACER_WAIT:
        survey->basis.waited_ns = event->tracer_wait.waited_ns;
        break;
    case TG_EVENT_STOP_PRICE:
        survey->price_of_end = price_of(&event->stop_price);
        break;
    case TG_EVENT_LIBRARY_LOAD:
        error = add_load(survey, event);
        break;
    case TG_EVENT_LIBRARY_NULL:
        survey->null_events++;
        count_stop(survey, event);
        break;
    case TG_EVENT_LIBRARY_UNLOAD:
        add_unload(survey, event);
        if (event->library_unload.found != TG_FOUND_CATCH_UP)
            count_stop(survey, event);
        break;
    case TG_EVENT_BREAKPOINT_SPEC:
        error = tg_break_goals_record(&survey->goals, &event->breakpoint_spec);
        break;
    case TG_EVENT_BREAKPOINT_PLANTED:
        survey->planted_late += event->breakpoint_planted.late != 0;
        error = tg_break_goals_plant(&survey->goals, survey->catalog, &event->breakpoint_planted);
        break;
    case TG_EVENT_FILTER_SETTINGS:
        error = add_settings(survey, &event->filter_settings);
        break;
    case TG_EVENT_FILTER_DECISION:
        survey->decisions++;
        break;
    case TG_EVENT_DEFERRED_HANDLED:
        add_handling(survey, event);
        break;
    case TG_EVENT_PROGRAM:
        error = add_program(survey, &event->program);
        break;
    case TG_EVENT_EXEC:
    case TG_EVENT_PROCESS_EXIT:
        if (process_of(survey, event->pid) != NULL)
            end_process(survey, process_of(survey, event->pid));
        break;
    case TG_EVENT_LOSS:
        survey->has_loss = true;
        survey->lost_events += event->loss.count;
        break;
    default:
        break;
    }
    return error;
}

static struct tg_error *settings_from_meta(struct tg_filter_survey *survey, const struct tg_trace_meta *meta)
{
    const char *name = tg_trace_meta_get(meta, "capture.mode");
    const char *match = tg_trace_meta_get(meta, "capture.match");
    for (enum tg_filter_mode mode = TG_FILTER_SLOW; name != NULL && mode <= TG_FILTER_FAST; mode++)
        if (strcmp(name, tg_dlopen_filter_mode_name(mode)) == 0)
            return add_settings(survey, &(struct tg_event_filter_settings){
                                            .mode = mode, .match = match != NULL ? match : ""});
    return NULL;
}

static struct tg_quartiles quartiles_of(const struct tg_trace_meta *meta, const char *name)
{
    char low[64], median[64], high[64];
    snprintf(low, sizeof low, "cost.%s_low_ns", name);
    snprintf(median, sizeof median, "cost.%s_ns", name);
    snprintf(high, sizeof high, "cost.%s_high_ns", name);
    return (struct tg_quartiles){tg_trace_meta_get_number(meta, low, 0),
                                 tg_trace_meta_get_number(meta, median, 0),
                                 tg_trace_meta_get_number(meta, high, 0)};
}

static struct tg_stop_cost floor_of(const struct tg_trace_meta *meta)
{
    return (struct tg_stop_cost){
        .stop_ns = tg_trace_meta_get_number(meta, "cost.stop_ns", 0),
        .tracer_ns = tg_trace_meta_get_number(meta, "cost.tracer_ns", 0),
        .samples = tg_trace_meta_get_number(meta, "cost.samples", 0),
        .stop = quartiles_of(meta, "stop"),
        .hidden = quartiles_of(meta, "hidden"),
        .sparse_stop = quartiles_of(meta, "sparse_stop"),
        .sparse_hidden = quartiles_of(meta, "sparse_hidden"),
        .read = quartiles_of(meta, "read"),
        .together_ns = tg_trace_meta_get_number(meta, "cost.together_ns", 0),
    };
}

/* Where libraries are found at other stops than the loader's, those that were closed before are not. */
static bool may_lack_libraries(const struct tg_filter_survey *survey, const struct tg_trace_meta *meta)
{
    const char *watch = meta == NULL ? NULL : tg_trace_meta_get(meta, "capture.dlopen");
    bool rarely = watch != NULL && (strcmp(watch, "catch_up") == 0 || strcmp(watch, "none") == 0);
    return rarely || survey->was_fast || survey->catch_up_events > 0;
}

/* A redacted copy has other patterns and other names: what the list would have decided is not known. */
static void forget_redacted_list(struct tg_filter_survey *survey, const struct tg_trace_meta *meta)
{
    const char *redacted = tg_trace_meta_get(meta, "redacted");
    bool is_known = survey->match[0] == '\0' || strcmp(survey->match, "*") == 0;
    if (redacted == NULL || strcmp(redacted, "on") != 0 || (is_known && !survey->settings_changed))
        return;
    survey->list_is_redacted = true;
    survey->match[0] = '\0';
}

struct tg_error *tg_filter_survey_finish(struct tg_filter_survey *survey, const struct tg_trace_meta *meta,
                                         tg_find_breaks *find)
{
    if (survey->price_of_end.stop_ns > 0) {
        survey->basis.floor = survey->price_of_end;
        survey->basis.floor_source = TG_COST_FLOOR_RECORDED;
        survey->basis.floor_is_of_end = true;
    }
    if (meta != NULL) {
        struct tg_stop_cost floor = floor_of(meta);
        if (floor.stop_ns > 0) {
            survey->basis.floor = floor;
            survey->basis.floor_source = TG_COST_FLOOR_RECORDED;
            survey->basis.floor_is_of_end = false;
        }
        struct tg_error *error = survey->has_settings ? NULL : settings_from_meta(survey, meta);
        if (error != NULL)
            return error;
        forget_redacted_list(survey, meta);
    }
    survey->basis.no_search =
        survey->basis.dlopened.ns == 0 && survey->basis.others.ns == 0 && survey->goals.count == 0;
    survey->unseen = may_lack_libraries(survey, meta);
    survey->incomplete |= survey->has_loss;
    const char *directory = meta == NULL ? NULL : tg_trace_meta_get(meta, "command.cwd");
    const struct tg_break_search search = {
        .find = find, .directory = directory, .unseen = survey->unseen || survey->incomplete};
    return tg_break_goals_resolve(&survey->goals, survey->catalog, &search);
}

void tg_filter_survey_use_floor(struct tg_filter_survey *survey, const struct tg_stop_cost *floor)
{
    survey->basis.floor = *floor;
    survey->basis.floor_source = TG_COST_FLOOR_CALIBRATED;
    survey->basis.floor_is_of_end = false;
}
