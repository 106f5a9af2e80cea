#include "analyzer/filter/report.h"
#include "format/base/json_writer.h"
#include "format/base/printable.h"
#include "format/settings/settings.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const mode_names[] = {"slow", "medium", "fast"};
static const char *const floor_names[] = {"none", "recorded", "calibrated"};

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void write_double_or_null(struct tg_json *json, const char *key, bool known, double value)
{
    tg_json_key(json, key);
    if (known)
        tg_json_double(json, value, 6);
    else
        tg_json_null(json);
}

static void write_recorded(struct tg_json *json, const struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_survey *survey = &evaluation->survey;
    tg_json_key(json, "recorded");
    tg_json_begin_object(json);
    tg_json_key(json, "mode");
    if (survey->has_settings)
        tg_json_string(json, mode_names[survey->mode]);
    else
        tg_json_null(json);
    tg_json_member_string(json, "match", survey->match);
    tg_json_member_bool(json, "settings_changed", survey->settings_changed);
    tg_json_member_bool(json, "complete", evaluation->summary.complete && evaluation->damage == NULL);
    tg_json_member_unsigned(json, "lost_events", survey->lost_events);
    tg_json_key(json, "agrees");
    if (evaluation->has_check)
        tg_json_bool(json,
                     evaluation->check.decisions_differ == 0 && evaluation->check.handlings_differ == 0);
    else
        tg_json_null(json);
    tg_json_member_unsigned(json, "decisions", evaluation->check.decisions);
    tg_json_member_unsigned(json, "decisions_differ", evaluation->check.decisions_differ);
    tg_json_member_unsigned(json, "handlings", evaluation->check.handlings);
    tg_json_member_unsigned(json, "handlings_differ", evaluation->check.handlings_differ);
    tg_json_member_string(json, "first_difference", evaluation->check.first);
    tg_json_end_object(json);
}

static void write_cost_basis(struct tg_json *json, const struct tg_cost_basis *basis)
{
    char text[300];
    tg_cost_describe(basis, text, sizeof text);
    tg_json_key(json, "cost");
    tg_json_begin_object(json);
    tg_json_member_string(json, "floor", floor_names[basis->floor_source]);
    tg_json_member_unsigned(json, "floor_stop_ns", basis->floor.stop_ns);
    tg_json_member_unsigned(json, "floor_tracer_ns", basis->floor.tracer_ns);
    tg_json_member_unsigned(json, "measured_stops", basis->measured_stops);
    tg_json_member_unsigned(json, "unmeasured_stops", basis->unmeasured_stops);
    tg_json_member_string(json, "how", text);
    tg_json_end_object(json);
}

static void write_goal_libraries(struct tg_json *json, const struct tg_library_catalog *catalog,
                                 uint32_t goal)
{
    tg_json_key(json, "libraries");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_library_catalog_count(catalog); i++) {
        const struct tg_catalog_library *library = tg_library_catalog_at(catalog, i);
        for (uint32_t g = 0; g < library->n_goals; g++)
            if (library->goals[g] == goal)
                tg_json_string(json, library->path);
    }
    tg_json_end_array(json);
}

static void write_breakpoints(struct tg_json *json, const struct tg_filter_survey *survey)
{
    tg_json_key(json, "breakpoints");
    tg_json_begin_array(json);
    for (uint32_t i = 0; i < survey->goals.count; i++) {
        tg_json_begin_object(json);
        tg_json_member_string(json, "spec", survey->goals.items[i].text);
        tg_json_member_string(json, "state", tg_goal_state_name(survey->goals.items[i].state));
        tg_json_member_bool(json, "recorded", survey->goals.items[i].recorded);
        write_goal_libraries(json, survey->catalog, i);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_planting(struct tg_json *json, const struct tg_planting *planting)
{
    tg_json_member_unsigned(json, "in_time", planting->in_time);
    tg_json_member_unsigned(json, "late", planting->late);
    tg_json_member_unsigned(json, "never", planting->never);
    tg_json_member_unsigned(json, "worst_window_ns", planting->worst_window_ns);
}

static void write_simulation(struct tg_json *json, const struct tg_simulation_result *result)
{
    tg_json_key(json, "simulation");
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "requests", result->requests);
    tg_json_member_double(json, "completion_ms", ms(result->completion_ns), 6);
    tg_json_member_double(json, "added_ms", ms(result->completion_ns - result->native_ns), 6);
    tg_json_member_double(json, "client_busy_percent", result->client_busy * 100, 3);
    tg_json_member_unsigned(json, "max_queue", result->max_queue);
    tg_json_member_double(json, "mean_wait_ms", result->mean_wait_ns / 1e6, 6);
    tg_json_member_double(json, "max_wait_ms", ms(result->max_wait_ns), 6);
    tg_json_end_object(json);
}

static void write_saved(struct tg_json *json, const struct tg_filter_outcome *outcome,
                        const struct tg_filter_outcome *slow)
{
    bool known = tg_cost_is_known(&outcome->cost) && tg_cost_is_known(&slow->cost);
    write_double_or_null(json, "saved_ms", known, ((double)slow->cost.ns - (double)outcome->cost.ns) / 1e6);
}

static void write_outcome(struct tg_json *json, const struct tg_filter_outcome *outcome)
{
    bool known = tg_cost_is_known(&outcome->cost);
    tg_json_member_unsigned(json, "stops", outcome->stops);
    tg_json_member_unsigned(json, "null_stops", outcome->null_stops);
    tg_json_member_unsigned(json, "unload_stops", outcome->unload_stops);
    tg_json_member_unsigned(json, "startup_stops", outcome->startup_stops);
    tg_json_member_unsigned(json, "reported", outcome->reported);
    tg_json_member_unsigned(json, "deferred", outcome->deferred);
    tg_json_member_unsigned(json, "round_trips", outcome->round_trips);
    tg_json_member_unsigned(json, "libraries_handled", outcome->handled_libraries);
    write_double_or_null(json, "batch_mean", outcome->round_trips > 0,
                         (double)outcome->handled_libraries / (double)outcome->round_trips);
    tg_json_member_unsigned(json, "batch_max", outcome->max_batch);
    tg_json_member_unsigned(json, "deferred_batches", outcome->deferred_batches);
    tg_json_member_unsigned(json, "deferred_libraries", outcome->deferred_libraries);
    tg_json_member_unsigned(json, "dropped_libraries", outcome->dropped_libraries);
    write_planting(json, &outcome->planting);
    write_double_or_null(json, "cost_ms", known, ms(outcome->cost.ns));
    write_double_or_null(json, "cost_estimated_ms", known, ms(outcome->cost.estimated_ns));
    tg_json_member_unsigned(json, "cost_unknown_stops", outcome->cost.unknown_stops);
    tg_json_member_bool(json, "cuda_missed", outcome->defers_cuda);
}

static void write_column(struct tg_json *json, const struct tg_filter_evaluation *evaluation,
                         const struct tg_filter_column *column)
{
    const struct tg_break_goals *goals = &evaluation->survey.goals;
    tg_json_begin_object(json);
    tg_json_member_string(json, "mode", mode_names[column->mode]);
    tg_json_member_string(json, "match", column->match);
    tg_json_member_string(json, "label", column->label);
    tg_json_member_bool(json, "as_recorded", column->as_recorded);
    write_outcome(json, column->outcome);
    write_saved(json, column->outcome, evaluation->slow);
    tg_json_key(json, "breakpoints");
    tg_json_begin_array(json);
    for (size_t i = 0; i < goals->count; i++) {
        tg_json_begin_object(json);
        tg_json_member_string(json, "spec", goals->items[i].text);
        write_planting(json, &column->outcome->goals[i]);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    if (column->has_simulation)
        write_simulation(json, &column->simulation);
    tg_json_end_object(json);
}

static struct tg_error *write_suggestion(struct tg_json *json, const struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    char *settings = tg_settings_format(suggestion->mode == TG_FILTER_SLOW, suggestion->match);
    char *command_line = tg_suggestion_command_line(suggestion->mode, suggestion->match);
    if (settings == NULL || command_line == NULL) {
        free(settings);
        free(command_line);
        return tg_error_no_memory();
    }
    tg_json_key(json, "suggestion");
    tg_json_begin_object(json);
    tg_json_member_string(json, "mode", mode_names[suggestion->mode]);
    tg_json_member_string(json, "match", suggestion->match);
    tg_json_member_string(json, "settings", settings);
    tg_json_member_string(json, "command_line", command_line);
    tg_json_member_bool(json, "unknown_breakpoints", suggestion->unknown_goals);
    write_outcome(json, suggestion->outcome);
    write_saved(json, suggestion->outcome, evaluation->slow);
    tg_json_end_object(json);
    free(settings);
    free(command_line);
    return NULL;
}

static void write_parameters(struct tg_json *json, const struct tg_filter_evaluation *evaluation)
{
    tg_json_key(json, "simulation");
    tg_json_begin_object(json);
    tg_json_member_unsigned(json, "processes", evaluation->simulation.processes);
    tg_json_member_unsigned(json, "clients", evaluation->simulation.clients);
    tg_json_member_double(json, "round_trip_us", (double)evaluation->simulation.round_trip_ns / 1e3, 3);
    tg_json_member_unsigned(json, "observed_processes", evaluation->simulated_from);
    tg_json_end_object(json);
}

struct tg_error *tg_filter_write_json(const struct tg_filter_evaluation *evaluation, const char *trace,
                                      FILE *stream)
{
    const struct tg_filter_survey *survey = &evaluation->survey;
    struct tg_json json;
    struct tg_error *error = NULL;
    tg_json_init(&json, stream, true);
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "trace", trace);
    tg_json_member_unsigned(&json, "dlopen_events", survey->dlopen_events);
    tg_json_member_unsigned(&json, "null_events", survey->null_events);
    tg_json_member_unsigned(&json, "unload_events", survey->unload_events);
    tg_json_member_unsigned(&json, "libraries", survey->libraries);
    tg_json_member_unsigned(&json, "catch_up_events", survey->catch_up_events);
    tg_json_member_unsigned(&json, "agent_events", survey->agent_events);
    tg_json_member_bool(&json, "lower_bound", survey->catch_up_events > 0);
    tg_json_member_bool(&json, "cuda", survey->cuda);
    write_recorded(&json, evaluation);
    write_cost_basis(&json, &survey->basis);
    write_breakpoints(&json, survey);
    if (evaluation->has_simulation)
        write_parameters(&json, evaluation);
    tg_json_key(&json, "modes");
    tg_json_begin_array(&json);
    for (size_t i = 0; i < evaluation->n_columns; i++)
        write_column(&json, evaluation, &evaluation->columns[i]);
    tg_json_end_array(&json);
    if (evaluation->has_suggestion)
        error = write_suggestion(&json, evaluation);
    tg_json_end_object(&json);
    tg_json_end_line(&json);
    return error;
}

/* ---- predictions ---- */

static const char *value_name(unsigned kind, size_t field, uint64_t value)
{
    const char *name = tg_field_value_name(&tg_event_schema(kind)->fields[field], value);
    return name != NULL ? name : "?";
}

static void write_prediction_json(const struct tg_filter_prediction *prediction, enum tg_filter_mode mode,
                                  const char *match, FILE *stream)
{
    struct tg_json json;
    bool decision = prediction->kind == TG_PREDICTED_DECISION;
    tg_json_init(&json, stream, false);
    tg_json_begin_object(&json);
    tg_json_member_string(&json, "mode", mode_names[mode]);
    tg_json_member_string(&json, "match", match);
    tg_json_member_unsigned(&json, "t_ns", prediction->time_ns);
    tg_json_member_signed(&json, "pid", prediction->pid);
    tg_json_member_signed(&json, "rank", prediction->rank);
    tg_json_member_string(&json, "kind", decision ? "filter_decision" : "deferred_handled");
    if (decision) {
        tg_json_member_string(&json, "decision",
                              value_name(TG_EVENT_FILTER_DECISION, 0, prediction->decision));
        tg_json_member_string(&json, "rule", value_name(TG_EVENT_FILTER_DECISION, 1, prediction->rule));
        tg_json_member_string(&json, "pattern", prediction->pattern);
        tg_json_member_string(&json, "library", prediction->library);
        tg_json_key(&json, "libraries");
        tg_json_begin_array(&json);
        for (uint64_t i = 0; i < prediction->n_libraries; i++)
            tg_json_string(&json, prediction->libraries[i]);
        tg_json_end_array(&json);
    } else {
        tg_json_member_string(&json, "trigger",
                              value_name(TG_EVENT_DEFERRED_HANDLED, 0, prediction->trigger));
        tg_json_member_unsigned(&json, "events", prediction->events);
        tg_json_member_unsigned(&json, "libraries", prediction->n_libraries);
    }
    tg_json_end_object(&json);
    tg_json_end_line(&json);
}

void tg_filter_write_prediction(const struct tg_filter_prediction *prediction, enum tg_filter_mode mode,
                                const char *match, bool json, FILE *stream)
{
    if (json) {
        write_prediction_json(prediction, mode, match, stream);
        return;
    }
    fprintf(stream, "%s %" PRIu64 " %" PRId32 " ", mode_names[mode], prediction->time_ns, prediction->pid);
    if (prediction->kind == TG_PREDICTED_HANDLING) {
        fprintf(stream, "handled at %s: %" PRIu64 " events, %" PRIu64 " libraries",
                value_name(TG_EVENT_DEFERRED_HANDLED, 0, prediction->trigger), prediction->events,
                prediction->n_libraries);
    } else {
        fprintf(stream, "%s by %s", value_name(TG_EVENT_FILTER_DECISION, 0, prediction->decision),
                value_name(TG_EVENT_FILTER_DECISION, 1, prediction->rule));
        if (prediction->rule == TG_RULE_PATTERN) {
            fputs(" \"", stream);
            tg_printable_write(stream, prediction->pattern);
            fputs("\" of ", stream);
            tg_printable_write(stream, prediction->library);
        }
        putc(':', stream);
        for (uint64_t i = 0; i < prediction->n_libraries; i++) {
            putc(' ', stream);
            tg_printable_write(stream, prediction->libraries[i]);
        }
    }
    putc('\n', stream);
}
