#include "analyzer/filter/report.h"

#include "analyzer/filter/tables.h"
#include "format/base/json_writer.h"
#include "format/base/printable.h"
#include "format/settings/dlopen_filter.h"

#include <inttypes.h>

static const char *const floor_names[] = {"none", "recorded", "calibrated"};

static void write_recorded(struct tg_json *json, const struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_survey *survey = &evaluation->survey;
    tg_json_key(json, "recorded");
    tg_json_begin_object(json);
    tg_json_key(json, "mode");
    if (survey->has_settings)
        tg_json_string(json, tg_dlopen_filter_mode_name(survey->mode));
    else
        tg_json_null(json);
    tg_json_member_string(json, "match", survey->match);
    tg_json_member_bool(json, "list_is_redacted", survey->list_is_redacted);
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

/* An array of the three; null: not measured. */
static void write_quartiles(struct tg_json *json, const char *name, const struct tg_quartiles *quartiles)
{
    tg_json_key(json, name);
    if (quartiles->high == 0) {
        tg_json_null(json);
        return;
    }
    tg_json_begin_array(json);
    tg_json_unsigned(json, quartiles->low);
    tg_json_unsigned(json, quartiles->median);
    tg_json_unsigned(json, quartiles->high);
    tg_json_end_array(json);
}

static void write_cost_basis(struct tg_json *json, const struct tg_cost_basis *basis)
{
    char text[500];
    tg_cost_describe(basis, text, sizeof text);
    tg_json_key(json, "cost");
    tg_json_begin_object(json);
    tg_json_member_string(json, "floor", floor_names[basis->floor_source]);
    tg_json_member_unsigned(json, "floor_stop_ns", basis->floor.stop_ns);
    tg_json_member_unsigned(json, "floor_tracer_ns", basis->floor.tracer_ns);
    tg_json_member_unsigned(json, "floor_samples", basis->floor.samples);
    write_quartiles(json, "stop_ns", &basis->floor.stop);
    write_quartiles(json, "hidden_ns", &basis->floor.hidden);
    write_quartiles(json, "sparse_stop_ns", &basis->floor.sparse_stop);
    write_quartiles(json, "sparse_hidden_ns", &basis->floor.sparse_hidden);
    write_quartiles(json, "read_ns", &basis->floor.read);
    tg_json_member_unsigned(json, "measured_stops", basis->measured_stops);
    tg_json_member_unsigned(json, "unmeasured_stops", basis->unmeasured_stops);
    tg_json_member_string(json, "how", text);
    tg_json_end_object(json);
}

static void write_goal_libraries(struct tg_json *json, const struct tg_library_catalog *catalog,
                                 uint32_t goal, bool certain)
{
    tg_json_key(json, certain ? "libraries" : "perhaps");
    tg_json_begin_array(json);
    for (size_t i = 0; i < tg_library_catalog_count(catalog); i++) {
        const struct tg_catalog_library *library = tg_library_catalog_at(catalog, i);
        for (uint32_t g = 0; g < library->n_goals; g++)
            if (library->goals[g].goal == goal && library->goals[g].certain == certain)
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
        write_goal_libraries(json, survey->catalog, i, true);
        write_goal_libraries(json, survey->catalog, i, false);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

static void write_column(struct tg_json *json, const struct tg_filter_evaluation *evaluation,
                         const struct tg_filter_column *column)
{
    const struct tg_break_goals *goals = &evaluation->survey.goals;
    tg_json_begin_object(json);
    tg_json_member_string(json, "mode",
                          column->in_process ? "in-process" : tg_dlopen_filter_mode_name(column->mode));
    tg_json_member_string(json, "match", column->match);
    tg_json_member_string(json, "label", column->label);
    tg_json_member_bool(json, "as_recorded", column->as_recorded);
    tg_filter_table_outcome_json(json, evaluation, column->outcome);
    tg_json_key(json, "breakpoints");
    tg_json_begin_array(json);
    for (size_t i = 0; i < goals->count; i++) {
        tg_json_begin_object(json);
        tg_json_member_string(json, "spec", goals->items[i].text);
        tg_filter_table_goal_json(json, &column->outcome->goals[i]);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
    if (column->has_simulation) {
        tg_json_key(json, "simulation");
        tg_json_begin_object(json);
        tg_filter_table_simulation_json(json, &column->simulation);
        tg_json_end_object(json);
    }
    tg_json_end_object(json);
}

static struct tg_error *write_suggestion(struct tg_json *json, const struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    struct tg_suggestion_texts texts;
    struct tg_error *error = tg_suggestion_texts_make(suggestion->mode, suggestion->match, &texts);
    if (error != NULL)
        return error;
    tg_json_key(json, "suggestion");
    tg_json_begin_object(json);
    tg_json_member_string(json, "mode", tg_dlopen_filter_mode_name(suggestion->mode));
    tg_json_member_string(json, "match", suggestion->match);
    tg_json_member_string(json, "settings", texts.settings);
    tg_json_member_string(json, "command_line", texts.command_line);
    tg_json_member_bool(json, "unknown_breakpoints", suggestion->unknown_goals);
    tg_filter_table_outcome_json(json, evaluation, suggestion->outcome);
    if (suggestion->has_simulation) {
        tg_json_key(json, "simulation");
        tg_json_begin_object(json);
        tg_filter_table_simulation_json(json, &suggestion->simulation);
        tg_json_end_object(json);
    }
    tg_json_end_object(json);
    tg_suggestion_texts_deinit(&texts);
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
    tg_json_member_bool(&json, "lower_bound", survey->unseen);
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
