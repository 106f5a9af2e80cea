#include "analyzer/filter/survey.h"

#include "format/settings/dlopen_filter.h"

#include <stdlib.h>
#include <string.h>

struct tg_error *tg_filter_survey_init(struct tg_filter_survey *survey)
{
    *survey = (struct tg_filter_survey){.mode = TG_FILTER_SLOW, .match = strdup("")};
    if (survey->match == NULL)
        return tg_error_no_memory();
    return tg_library_catalog_create(&survey->catalog);
}

void tg_filter_survey_deinit(struct tg_filter_survey *survey)
{
    tg_break_goals_deinit(&survey->goals);
    tg_library_catalog_destroy(survey->catalog);
    free(survey->match);
    *survey = (struct tg_filter_survey){0};
}

bool tg_library_load_is_dlopen(const struct tg_event_library_load *load)
{
    return load->found == TG_FOUND_LOADER || load->found == TG_FOUND_CATCH_UP ||
           load->found == TG_FOUND_AGENT;
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

static struct tg_error *add_load(struct tg_filter_survey *survey, const struct tg_event *event)
{
    const struct tg_event_library_load *load = &event->library_load;
    const struct tg_library *libraries = load->libraries.items;
    bool dlopen = tg_library_load_is_dlopen(load);
    for (uint64_t i = 0; i < load->libraries.count; i++) {
        struct tg_catalog_library *library = NULL;
        struct tg_error *error = tg_library_catalog_intern(survey->catalog, libraries[i].path, &library);
        if (error != NULL)
            return error;
        library->dlopens += dlopen;
        library->startups += !dlopen;
        survey->cuda |= dlopen && library->cuda;
    }
    if (load->handle_ns > 0) {
        survey->basis.handle_ns += load->handle_ns;
        survey->basis.handled_libraries += load->libraries.count;
    }
    if (!dlopen) {
        survey->startup_libraries += load->libraries.count;
        if (load->found == TG_FOUND_STARTUP && event->stop_ns > 0)
            count_stop(survey, event);
        return NULL;
    }
    survey->dlopen_events++;
    survey->libraries += load->libraries.count;
    survey->catch_up_events += load->found == TG_FOUND_CATCH_UP;
    survey->agent_events += load->found == TG_FOUND_AGENT;
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

struct tg_error *tg_filter_survey_add(struct tg_filter_survey *survey, const struct tg_event *event)
{
    struct tg_error *error = NULL;
    unsigned kind = event->kind;
    switch (kind) {
    case TG_EVENT_LIBRARY_LOAD:
        error = add_load(survey, event);
        break;
    case TG_EVENT_LIBRARY_NULL:
        survey->null_events++;
        count_stop(survey, event);
        break;
    case TG_EVENT_LIBRARY_UNLOAD:
        survey->unload_events++;
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
        survey->handlings++;
        survey->basis.handle_ns += event->deferred_handled.handle_ns;
        if (event->deferred_handled.handle_ns > 0)
            survey->basis.handled_libraries += event->deferred_handled.libraries;
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

struct tg_error *tg_filter_survey_finish(struct tg_filter_survey *survey, const struct tg_trace_meta *meta)
{
    if (meta != NULL) {
        struct tg_stop_cost floor = {
            .stop_ns = tg_trace_meta_get_number(meta, "cost.stop_ns", 0),
            .tracer_ns = tg_trace_meta_get_number(meta, "cost.tracer_ns", 0),
            .samples = tg_trace_meta_get_number(meta, "cost.samples", 0),
        };
        if (floor.stop_ns > 0) {
            survey->basis.floor = floor;
            survey->basis.floor_source = TG_COST_FLOOR_RECORDED;
        }
        struct tg_error *error = survey->has_settings ? NULL : settings_from_meta(survey, meta);
        if (error != NULL)
            return error;
    }
    return tg_break_goals_resolve(&survey->goals, survey->catalog);
}

void tg_filter_survey_use_floor(struct tg_filter_survey *survey, const struct tg_stop_cost *floor)
{
    survey->basis.floor = *floor;
    survey->basis.floor_source = TG_COST_FLOOR_CALIBRATED;
}
