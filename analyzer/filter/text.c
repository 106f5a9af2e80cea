#include "analyzer/filter/report.h"

#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "format/base/printable.h"
#include "format/settings/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_SIZE = 160, SHORT_LIST = 72 };

static const char *const mode_names[] = {"slow", "medium", "fast"};

/* One row of the main table: FILL writes the cell of a column; "" leaves it blank. */
struct row {
    const char *heading;
    void (*fill)(const struct tg_filter_evaluation *evaluation, const struct tg_filter_column *column,
                 char *cell);
    bool (*shown)(const struct tg_filter_evaluation *evaluation); /* NULL: always */
};

static const char *bound(const struct tg_filter_evaluation *evaluation, const struct tg_filter_column *column)
{
    return evaluation->survey.catch_up_events > 0 && column->mode != TG_FILTER_FAST ? ">= " : "";
}

static void put_count(char *cell, const char *prefix, uint64_t count)
{
    char text[TG_QUANTITY_SIZE];
    snprintf(cell, CELL_SIZE, "%s%s", prefix, tg_quantity_count(count, text));
}

#define COUNT_ROW(name, member)                                                                              \
    static void name(const struct tg_filter_evaluation *evaluation, const struct tg_filter_column *column,   \
                     char *cell)                                                                             \
    {                                                                                                        \
        put_count(cell, bound(evaluation, column), column->outcome->member);                                 \
    }
COUNT_ROW(fill_stops, stops)
COUNT_ROW(fill_null, null_stops)
COUNT_ROW(fill_unload, unload_stops)
COUNT_ROW(fill_startup, startup_stops)
COUNT_ROW(fill_reported, reported)
COUNT_ROW(fill_deferred, deferred)
COUNT_ROW(fill_round_trips, round_trips)
#undef COUNT_ROW

#define PLAIN_ROW(name, member)                                                                              \
    static void name(const struct tg_filter_evaluation *evaluation, const struct tg_filter_column *column,   \
                     char *cell)                                                                             \
    {                                                                                                        \
        (void)evaluation;                                                                                    \
        put_count(cell, "", column->outcome->member);                                                        \
    }
PLAIN_ROW(fill_handled, handled_libraries)
PLAIN_ROW(fill_max_batch, max_batch)
PLAIN_ROW(fill_batches, deferred_batches)
PLAIN_ROW(fill_deferred_libraries, deferred_libraries)
PLAIN_ROW(fill_dropped, dropped_libraries)
PLAIN_ROW(fill_in_time, planting.in_time)
PLAIN_ROW(fill_late, planting.late)
PLAIN_ROW(fill_never, planting.never)
#undef PLAIN_ROW

static void fill_mean_batch(const struct tg_filter_evaluation *evaluation,
                            const struct tg_filter_column *column, char *cell)
{
    (void)evaluation;
    if (column->outcome->round_trips > 0)
        snprintf(cell, CELL_SIZE, "%.2f",
                 (double)column->outcome->handled_libraries / (double)column->outcome->round_trips);
    else
        strcpy(cell, "-");
}

static void fill_window(const struct tg_filter_evaluation *evaluation, const struct tg_filter_column *column,
                        char *cell)
{
    (void)evaluation;
    if (column->outcome->planting.late > 0)
        tg_quantity_duration(column->outcome->planting.worst_window_ns, cell);
    else
        strcpy(cell, "-");
}

static void fill_cost(const struct tg_filter_evaluation *evaluation, const struct tg_filter_column *column,
                      char *cell)
{
    const struct tg_cost *cost = &column->outcome->cost;
    if (tg_cost_is_known(cost))
        snprintf(cell, CELL_SIZE, "%s%.3f", bound(evaluation, column), (double)cost->ns / 1e6);
    else
        strcpy(cell, "unknown");
}

static void fill_saved(const struct tg_filter_evaluation *evaluation, const struct tg_filter_column *column,
                       char *cell)
{
    const struct tg_cost *slow = &evaluation->slow->cost, *cost = &column->outcome->cost;
    if (column->mode == TG_FILTER_SLOW || !tg_cost_is_known(slow) || !tg_cost_is_known(cost) || slow->ns == 0)
        strcpy(cell, "-");
    else
        snprintf(cell, CELL_SIZE, "%.1f%%", 100.0 * ((double)slow->ns - (double)cost->ns) / (double)slow->ns);
}

static bool has_goals(const struct tg_filter_evaluation *evaluation)
{
    return evaluation->survey.goals.count > 0;
}

static bool has_dropped(const struct tg_filter_evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->n_columns; i++)
        if (evaluation->columns[i].outcome->dropped_libraries > 0)
            return true;
    return false;
}

static const struct row rows[] = {
    {"loader stops", fill_stops, NULL},
    {"  null", fill_null, NULL},
    {"  unload", fill_unload, NULL},
    {"  start-up", fill_startup, NULL},
    {"dlopen events reported", fill_reported, NULL},
    {"dlopen events deferred", fill_deferred, NULL},
    {"client round trips", fill_round_trips, NULL},
    {"libraries handled", fill_handled, NULL},
    {"  at once, mean", fill_mean_batch, NULL},
    {"  at once, most", fill_max_batch, NULL},
    {"  deferred ones", fill_deferred_libraries, NULL},
    {"  in batches", fill_batches, NULL},
    {"libraries never handled", fill_dropped, has_dropped},
    {"breakpoints in time", fill_in_time, has_goals},
    {"  late", fill_late, has_goals},
    {"  never", fill_never, has_goals},
    {"  worst window", fill_window, has_goals},
    {"cost, ms", fill_cost, NULL},
    {"  saved", fill_saved, NULL},
};

/* A table whose first LEAD columns are texts and whose others are the settings. */
static struct tg_error *create_table(const struct tg_filter_evaluation *evaluation, const char *const *lead,
                                     size_t n_lead, bool colour, struct tg_text_table **table)
{
    char labels[TG_FILTER_MAX_LANES][20];
    const char *headings[TG_TEXT_TABLE_MAX_COLUMNS + 1] = {NULL};
    size_t count = 0;
    for (; count < n_lead; count++)
        headings[count] = lead[count];
    for (size_t i = 0; i < evaluation->n_columns && count < TG_TEXT_TABLE_MAX_COLUMNS; i++) {
        snprintf(labels[i], sizeof labels[i], ">%s", evaluation->columns[i].label);
        headings[count++] = labels[i];
    }
    return tg_text_table_create(headings, colour, table);
}

static struct tg_error *write_rows(const struct tg_filter_evaluation *evaluation, bool colour, FILE *stream)
{
    struct tg_text_table *table = NULL;
    struct tg_error *error = create_table(evaluation, (const char *[]){""}, 1, colour, &table);
    for (size_t r = 0; error == NULL && r < sizeof rows / sizeof *rows; r++) {
        char texts[TG_FILTER_MAX_LANES][CELL_SIZE];
        const char *cells[TG_TEXT_TABLE_MAX_COLUMNS] = {rows[r].heading};
        if (rows[r].shown != NULL && !rows[r].shown(evaluation))
            continue;
        for (size_t i = 0; i < evaluation->n_columns; i++) {
            texts[i][0] = '\0';
            rows[r].fill(evaluation, &evaluation->columns[i], texts[i]);
            cells[i + 1] = texts[i];
        }
        error = tg_text_table_add(table, cells);
    }
    if (error == NULL)
        error = tg_text_table_print(table, stream);
    tg_text_table_destroy(table);
    return error;
}

/* ---- breakpoints ---- */

static void fill_planting(const struct tg_planting *planting, char *cell)
{
    char window[TG_QUANTITY_SIZE], count[3][TG_QUANTITY_SIZE];
    size_t used = 0;
    uint64_t total = planting->in_time + planting->late + planting->never;
    cell[0] = '\0';
    if (total == 0) {
        strcpy(cell, "-");
        return;
    }
    if (planting->in_time == total) {
        strcpy(cell, "in time");
        return;
    }
    if (planting->in_time > 0)
        used += (size_t)snprintf(cell + used, CELL_SIZE - used, "%s in time, ",
                                 tg_quantity_count(planting->in_time, count[0]));
    if (planting->late > 0)
        used += (size_t)snprintf(
            cell + used, CELL_SIZE - used, "%s late (%s)%s", tg_quantity_count(planting->late, count[1]),
            tg_quantity_duration(planting->worst_window_ns, window), planting->never > 0 ? ", " : "");
    if (planting->never > 0)
        snprintf(cell + used, CELL_SIZE - used, "%s never", tg_quantity_count(planting->never, count[2]));
}

static void fill_state(const struct tg_break_goal *goal, char *cell)
{
    char count[TG_QUANTITY_SIZE];
    switch (goal->state) {
    case TG_GOAL_RESOLVED:
        snprintf(cell, CELL_SIZE, "%s", tg_quantity_count(goal->places, count));
        break;
    case TG_GOAL_BY_LIBRARY:
        snprintf(cell, CELL_SIZE, "%s by name", tg_quantity_count(goal->places, count));
        break;
    case TG_GOAL_NOWHERE:
        strcpy(cell, "none");
        break;
    case TG_GOAL_UNKNOWN:
        strcpy(cell, "unknown");
        break;
    }
}

static struct tg_error *write_goals(const struct tg_filter_evaluation *evaluation, bool colour, FILE *stream)
{
    const struct tg_break_goals *goals = &evaluation->survey.goals;
    if (goals->count == 0)
        return NULL;
    struct tg_text_table *table = NULL;
    struct tg_error *error =
        create_table(evaluation, (const char *[]){"breakpoint", ">libraries"}, 2, colour, &table);
    bool unknown = false;
    for (size_t g = 0; error == NULL && g < goals->count; g++) {
        char texts[TG_FILTER_MAX_LANES][CELL_SIZE], name[256], state[CELL_SIZE];
        const char *cells[TG_TEXT_TABLE_MAX_COLUMNS] = {name, state};
        tg_printable(goals->items[g].text, name, sizeof name);
        fill_state(&goals->items[g], state);
        unknown |= goals->items[g].state == TG_GOAL_UNKNOWN;
        for (size_t i = 0; i < evaluation->n_columns; i++) {
            fill_planting(&evaluation->columns[i].outcome->goals[g], texts[i]);
            cells[i + 2] = texts[i];
        }
        error = tg_text_table_add(table, cells);
    }
    if (error == NULL) {
        putc('\n', stream);
        error = tg_text_table_print(table, stream);
    }
    if (error == NULL && unknown)
        fputs("unknown: the trace does not say which libraries hold it; record with --break, or name one: "
              "LIBRARY`FUNCTION\n",
              stream);
    tg_text_table_destroy(table);
    return error;
}

/* ---- simulation ---- */

static struct tg_error *add_simulation_row(const struct tg_filter_evaluation *evaluation, unsigned row,
                                           struct tg_text_table *table)
{
    static const char *const headings[] = {"requests to clients", "completion added, ms", "clients busy, %",
                                           "longest queue",       "mean wait, ms",        "longest wait, ms"};
    char texts[TG_FILTER_MAX_LANES][CELL_SIZE];
    const char *cells[TG_TEXT_TABLE_MAX_COLUMNS] = {headings[row]};
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        const struct tg_simulation_result *result = &evaluation->columns[i].simulation;
        cells[i + 1] = texts[i];
        if (row == 0)
            put_count(texts[i], "", result->requests);
        else if (row == 1)
            snprintf(texts[i], CELL_SIZE, "%.3f", (double)(result->completion_ns - result->native_ns) / 1e6);
        else if (row == 2)
            snprintf(texts[i], CELL_SIZE, "%.1f", result->client_busy * 100);
        else if (row == 3)
            put_count(texts[i], "", result->max_queue);
        else if (row == 4)
            snprintf(texts[i], CELL_SIZE, "%.3f", result->mean_wait_ns / 1e6);
        else
            snprintf(texts[i], CELL_SIZE, "%.3f", (double)result->max_wait_ns / 1e6);
    }
    return tg_text_table_add(table, cells);
}

static struct tg_error *write_simulation(const struct tg_filter_evaluation *evaluation, bool colour,
                                         FILE *stream)
{
    const struct tg_simulation_options *options = &evaluation->simulation;
    if (!evaluation->has_simulation)
        return NULL;
    fprintf(stream,
            "\nSimulated: %" PRIu64
            " processes that do what the %zu observed ones did, starting together; %" PRIu64
            " client%s, one event at a time, round trip %.1f us.\n",
            options->processes, evaluation->simulated_from, options->clients,
            options->clients == 1 ? "" : "s", (double)options->round_trip_ns / 1e3);
    if (evaluation->simulated_from == 0) {
        fputs("No process of the trace has a dlopen event: there is nothing to simulate.\n", stream);
        return NULL;
    }
    struct tg_text_table *table = NULL;
    struct tg_error *error = create_table(evaluation, (const char *[]){""}, 1, colour, &table);
    for (unsigned row = 0; error == NULL && row < 6; row++)
        error = add_simulation_row(evaluation, row, table);
    if (error == NULL)
        error = tg_text_table_print(table, stream);
    tg_text_table_destroy(table);
    return error;
}

/* ---- words around the tables ---- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void write_head(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_survey *survey = &evaluation->survey;
    char a[TG_QUANTITY_SIZE], b[TG_QUANTITY_SIZE], c[TG_QUANTITY_SIZE];
    fprintf(stream, "%s dlopen event%s brought %s librar%s; %s null event%s.",
            tg_quantity_count(survey->dlopen_events, a), plural(survey->dlopen_events),
            tg_quantity_count(survey->libraries, b), survey->libraries == 1 ? "y" : "ies",
            tg_quantity_count(survey->null_events, c), plural(survey->null_events));
    if (survey->settings_changed)
        fputs(" The filter was changed while it was recorded.", stream);
    else if (survey->agent_events > 0 && survey->agent_events == survey->dlopen_events)
        fputs(" Recorded by the agent, in no mode.", stream);
    else if (survey->has_settings)
        fprintf(stream, " Recorded in %s mode.", mode_names[survey->mode]);
    putc('\n', stream);
    if (survey->catch_up_events > 0)
        fprintf(stream,
                "note: %" PRIu64
                " of the events were found without a loader stop; each may stand for several "
                "dlopens and their null events: figures for Slow and Medium are lower bounds. Record with "
                "--mode slow for exact ones.\n",
                survey->catch_up_events);
    if (survey->agent_events > 0)
        fprintf(stream,
                "note: %" PRIu64 " of the events were seen by the agent, without a stop: what stops cost is "
                "estimated from a stop's cost as measured when recording began.\n",
                survey->agent_events);
    if (evaluation->summary.truncated)
        fputs("note: the trace ends early; what is there was used.\n", stream);
    if (survey->has_loss)
        fprintf(stream, "note: %" PRIu64 " event%s were lost while recording.\n", survey->lost_events,
                plural(survey->lost_events));
}

static void write_list(FILE *stream, const char *match)
{
    char text[TG_GLOB_LIST_MAX_BYTES < 4096 ? TG_GLOB_LIST_MAX_BYTES : 4096];
    tg_printable(match, text, strlen(match) > SHORT_LIST ? SHORT_LIST : sizeof text);
    fputs(text, stream);
    if (strlen(match) > SHORT_LIST)
        fprintf(stream, " (%zu characters; --json has all)", strlen(match));
}

static void write_legend(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    bool medium = false;
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        const struct tg_filter_column *column = &evaluation->columns[i];
        if (column->mode != TG_FILTER_MEDIUM)
            continue;
        medium = true;
        fprintf(stream, "%s: ", column->label);
        write_list(stream, column->match);
        putc('\n', stream);
    }
    if (!medium)
        fputs("Medium needs a glob-list: --match GLOBLIST shows it, --suggest finds one.\n", stream);
}

static void write_cost(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    char text[300];
    tg_cost_describe(&evaluation->survey.basis, text, sizeof text);
    fprintf(stream,
            "cost: %s; the client's own time for a round trip is not in it (--processes simulates it)\n",
            text);
}

static void write_check(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_check_result *check = &evaluation->check;
    if (!evaluation->has_check)
        return;
    const char *mode = evaluation->survey.settings_changed ? "each setting in its time"
                                                           : mode_names[evaluation->survey.mode];
    if (check->decisions_differ == 0 && check->handlings_differ == 0) {
        fprintf(stream,
                "as recorded (%s): all %" PRIu64 " decisions and %" PRIu64
                " handlings are what the model says\n",
                mode, check->decisions, check->handlings);
        return;
    }
    fprintf(stream,
            "warning: as recorded (%s): %" PRIu64 " of %" PRIu64 " decisions and %" PRIu64 " of %" PRIu64
            " handlings differ from the model; first: ",
            mode, check->decisions_differ, check->decisions, check->handlings_differ, check->handlings);
    tg_printable_write(stream, check->first);
    putc('\n', stream);
}

static void write_cuda(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    bool any = false;
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        if (!evaluation->columns[i].outcome->defers_cuda)
            continue;
        fprintf(stream, "%s%s",
                any ? ", " : "warning: a CUDA driver library was loaded, and not reported in: ",
                evaluation->columns[i].label);
        any = true;
    }
    if (any)
        fputs("; CUDA kernel launches would be missed there. Add */libcuda.so* to the list to debug CUDA.\n",
              stream);
}

/* ---- suggestion ---- */

static void write_reason(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    const struct tg_planting *planting = &suggestion->outcome->planting;
    if (suggestion->unknown_goals)
        fputs(
            "Where some breakpoint belongs is not known from this trace, so nothing but Slow is safe: record "
            "with --break, or name its library: LIBRARY`FUNCTION.\n",
            stream);
    else if (evaluation->survey.goals.count == 0)
        fputs("No breakpoint is wanted in a library that is loaded later.\n", stream);
    else
        fprintf(stream,
                "Replayed: %" PRIu64 " breakpoint%s planted in time, %" PRIu64 " late, %" PRIu64 " never.\n",
                planting->in_time, plural(planting->in_time), planting->late, planting->never);
    for (size_t i = 0; i < evaluation->survey.goals.count; i++) {
        const struct tg_break_goal *goal = &evaluation->survey.goals.items[i];
        if (goal->state != TG_GOAL_NOWHERE)
            continue;
        fputs("note: no object of this job has ", stream);
        tg_printable_write(stream, goal->text);
        fputs("; it decides nothing here.\n", stream);
    }
    if (suggestion->colon && suggestion->mode == TG_FILTER_MEDIUM)
        fputs("note: a library's name has a ':', which no glob-list pattern can hold; `?` stands for it.\n",
              stream);
    if (evaluation->survey.cuda && suggestion->mode == TG_FILTER_MEDIUM)
        fputs("note: a CUDA driver library was loaded, so it is reported as well; without CUDA debugging "
              "*/libcuda.so* can go.\n",
              stream);
}

static void write_gain(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_cost *cost = &evaluation->suggestion.outcome->cost, *slow = &evaluation->slow->cost;
    if (!tg_cost_is_known(cost) || !tg_cost_is_known(slow)) {
        fprintf(stream,
                "It stops %" PRIu64 " times and asks the client %" PRIu64 " times; Slow: %" PRIu64
                " and %" PRIu64 ".\n",
                evaluation->suggestion.outcome->stops, evaluation->suggestion.outcome->round_trips,
                evaluation->slow->stops, evaluation->slow->round_trips);
        return;
    }
    fprintf(stream,
            "It costs %.3f ms; Slow costs %.3f ms: %.3f ms saved. Round trips: %" PRIu64 "; Slow: %" PRIu64
            ".\n",
            (double)cost->ns / 1e6, (double)slow->ns / 1e6, ((double)slow->ns - (double)cost->ns) / 1e6,
            evaluation->suggestion.outcome->round_trips, evaluation->slow->round_trips);
    if (evaluation->suggestion.outcome->round_trips < evaluation->slow->round_trips)
        fputs("What a client needs for a round trip is not in these costs: --processes N --round-trip-us T "
              "shows "
              "what it saves.\n",
              stream);
}

static struct tg_error *write_suggestion(const struct tg_filter_evaluation *evaluation, FILE *stream)
{
    const struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    static const char *const names[] = {"Slow", "Medium", "Fast"};
    if (!evaluation->has_suggestion)
        return NULL;
    char *settings = tg_settings_format(suggestion->mode == TG_FILTER_SLOW, suggestion->match);
    char *command_line = tg_suggestion_command_line(suggestion->mode, suggestion->match);
    if (settings == NULL || command_line == NULL) {
        free(settings);
        free(command_line);
        return tg_error_no_memory();
    }
    fprintf(stream, "\nSuggested: %s. ", names[suggestion->mode]);
    write_reason(evaluation, stream);
    write_gain(evaluation, stream);
    fprintf(stream, "\nIn a settings file:\n%s\nOn a command line:\n%s\n", settings, command_line);
    free(settings);
    free(command_line);
    return NULL;
}

struct tg_error *tg_filter_write_text(const struct tg_filter_evaluation *evaluation, bool colour,
                                      FILE *stream)
{
    write_head(evaluation, stream);
    putc('\n', stream);
    struct tg_error *error = write_rows(evaluation, colour, stream);
    if (error != NULL)
        return error;
    putc('\n', stream);
    write_legend(evaluation, stream);
    write_cost(evaluation, stream);
    write_check(evaluation, stream);
    write_cuda(evaluation, stream);
    error = write_goals(evaluation, colour, stream);
    if (error == NULL)
        error = write_simulation(evaluation, colour, stream);
    if (error == NULL)
        error = write_suggestion(evaluation, stream);
    return error;
}
