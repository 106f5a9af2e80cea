#include "analyzer/filter/tables.h"

#include "analyzer/output/quantity.h"
#include "analyzer/output/text_table.h"
#include "format/base/printable.h"

#include <string.h>

enum { CELL_SIZE = 160 };

/* ---- figures */

enum figure_kind {
    FIGURE_COUNT,  /* the uint64_t at OFFSET */
    FIGURE_BOUND,  /* the same; a lower bound where events were found without their stops */
    FIGURE_UNSEEN, /* the same; a lower bound wherever libraries may have come and gone unseen */
    FIGURE_HITS,   /* hits that the setting has, of the recording's; a lower bound where that missed some */
    FIGURE_MISSED, /* the uint64_t at OFFSET; a lower bound likewise */
    FIGURE_WINDOW, /* the same: a duration, where breakpoints were late */
    FIGURE_MEAN,   /* libraries a round trip */
    FIGURE_COST,   /* milliseconds, where they are claimed */
    FIGURE_ABOUT,  /* the same, as the middle of a range too */
    FIGURE_LOW,    /* range of the milliseconds, where either is claimed */
    FIGURE_HIGH,
    FIGURE_MEASURED, /* the share of them that was measured on the events themselves */
    FIGURE_ESTIMATE, /* the part of them that was not */
    FIGURE_SAVED,    /* compared with Slow: per cent in the table, milliseconds in JSON */
    FIGURE_CUDA,     /* whether a CUDA driver library went unreported */
};

struct figure {
    const char *key;     /* in JSON */
    const char *heading; /* of the table's row; NULL: in JSON alone */
    enum figure_kind kind;
    size_t offset;                                                /* in struct tg_filter_outcome */
    bool (*shown)(const struct tg_filter_evaluation *evaluation); /* the row; NULL: always */
};

static bool has_goals(const struct tg_filter_evaluation *evaluation)
{
    return evaluation->survey.goals.count > 0;
}

static bool has_unknown(const struct tg_filter_evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->n_columns; i++)
        if (evaluation->columns[i].outcome->planting.unknown > 0)
            return true;
    return false;
}

static bool has_hits(const struct tg_filter_evaluation *evaluation)
{
    return evaluation->n_columns > 0 && evaluation->columns[0].outcome->hits > 0;
}

static bool has_dropped(const struct tg_filter_evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->n_columns; i++)
        if (evaluation->columns[i].outcome->dropped_libraries > 0)
            return true;
    return false;
}

#define AT(member) offsetof(struct tg_filter_outcome, member)
static const struct figure figures[] = {
    {"stops", "loader stops", FIGURE_BOUND, AT(stops), NULL},
    {"null_stops", "  null", FIGURE_BOUND, AT(null_stops), NULL},
    {"unload_stops", "  unload", FIGURE_BOUND, AT(unload_stops), NULL},
    {"startup_stops", "  start-up", FIGURE_BOUND, AT(startup_stops), NULL},
    {"reported", "dlopen events reported", FIGURE_BOUND, AT(reported), NULL},
    {"deferred", "dlopen events deferred", FIGURE_BOUND, AT(deferred), NULL},
    {"round_trips", "client round trips", FIGURE_BOUND, AT(round_trips), NULL},
    {"libraries_handled", "libraries handled", FIGURE_COUNT, AT(handled_libraries), NULL},
    {"batch_mean", "  per round trip, mean", FIGURE_MEAN, 0, NULL},
    {"batch_max", "  per round trip, most", FIGURE_COUNT, AT(max_batch), NULL},
    {"deferred_libraries", "  after being deferred", FIGURE_COUNT, AT(deferred_libraries), NULL},
    {"deferred_batches", "  in batches", FIGURE_COUNT, AT(deferred_batches), NULL},
    {"dropped_libraries", "libraries never handled", FIGURE_UNSEEN, AT(dropped_libraries), has_dropped},
    {"in_time", "breakpoints in time", FIGURE_COUNT, AT(planting.in_time), has_goals},
    {"late", "  late", FIGURE_COUNT, AT(planting.late), has_goals},
    {"never", "  never", FIGURE_COUNT, AT(planting.never), has_goals},
    {"unknown", "  not known", FIGURE_COUNT, AT(planting.unknown), has_unknown},
    {"worst_window_ns", "  worst window", FIGURE_WINDOW, AT(planting.worst_window_ns), has_goals},
    {"hits", "breakpoint hits", FIGURE_HITS, AT(hits), has_hits},
    {"hits_missed", "  missed", FIGURE_MISSED, AT(missed_hits), has_hits},
    {"cost_ms", "cost, ms", FIGURE_COST, 0, NULL},
    {"cost_about_ms", NULL, FIGURE_ABOUT, 0, NULL},
    {"cost_low_ms", NULL, FIGURE_LOW, 0, NULL},
    {"cost_high_ms", NULL, FIGURE_HIGH, 0, NULL},
    {"cost_measured_percent", "  of that measured", FIGURE_MEASURED, 0, NULL},
    {"cost_estimated_ms", NULL, FIGURE_ESTIMATE, 0, NULL},
    {"cost_unknown_stops", NULL, FIGURE_COUNT, AT(cost.unknown_stops), NULL},
    {"saved_ms", "  saved", FIGURE_SAVED, 0, NULL},
    {"cuda_missed", NULL, FIGURE_CUDA, 0, NULL},
};
#undef AT

static uint64_t count_at(const struct tg_filter_outcome *outcome, size_t offset)
{
    uint64_t count;
    memcpy(&count, (const char *)outcome + offset, sizeof count);
    return count;
}

/* The recording's hits are those that this setting has and those that it misses. */
static uint64_t count_of(const struct figure *figure, const struct tg_filter_outcome *outcome)
{
    uint64_t count = count_at(outcome, figure->offset);
    return figure->kind == FIGURE_HITS ? count - outcome->missed_hits : count;
}

/* Whether the recording may have missed hits of breakpoints itself. */
static bool has_missed_hits(const struct tg_filter_survey *survey)
{
    for (size_t i = 0; i < survey->goals.count; i++)
        if (survey->goals.items[i].is_beyond)
            return true;
    return survey->planted_late > 0 || survey->unseen;
}

static bool has_unrecorded_goals(const struct tg_filter_survey *survey)
{
    for (size_t i = 0; i < survey->goals.count; i++)
        if (!survey->goals.items[i].recorded)
            return true;
    return false;
}

/* Whether a count is "at least": the recording has not seen all that there was to count. */
static bool is_bound(enum figure_kind kind, const struct tg_filter_evaluation *evaluation,
                     const struct tg_filter_column *column)
{
    const struct tg_filter_survey *made = &evaluation->survey;
    const struct tg_planting *planting = &column->outcome->planting;
    switch ((int)kind) {
    case FIGURE_BOUND:
        return made->unseen && column->mode != TG_FILTER_FAST;
    case FIGURE_UNSEEN:
        return made->unseen;
    case FIGURE_HITS:
        return has_missed_hits(made) && (!column->as_recorded || has_unrecorded_goals(made));
    case FIGURE_MISSED: /* a debugger that plants all breakpoints in time misses none */
        return has_missed_hits(made) && planting->late + planting->never + planting->unknown > 0;
    default:
        return false;
    }
}

/* A figure that is no count; false: not known. */
static bool number_of(const struct figure *figure, const struct tg_filter_outcome *outcome,
                      const struct tg_filter_outcome *slow, double *number)
{
    const struct tg_cost *cost = &outcome->cost;
    switch ((int)figure->kind) {
    case FIGURE_MEAN:
        *number = (double)outcome->handled_libraries / (double)outcome->round_trips;
        return outcome->round_trips > 0;
    case FIGURE_COST:
        *number = (double)cost->ns / 1e6;
        return tg_cost_claim(cost) == TG_COST_FIGURE;
    case FIGURE_ABOUT:
        *number = (double)cost->ns / 1e6;
        return tg_cost_claim(cost) != TG_COST_UNKNOWN;
    case FIGURE_LOW:
    case FIGURE_HIGH:
        *number = (double)(figure->kind == FIGURE_LOW ? cost->low_ns : cost->high_ns) / 1e6;
        return tg_cost_claim(cost) != TG_COST_UNKNOWN;
    case FIGURE_MEASURED:
        *number = 100 * (1 - (double)cost->estimated_ns / (double)cost->ns);
        return cost->ns > 0 && tg_cost_claim(cost) != TG_COST_UNKNOWN;
    case FIGURE_ESTIMATE:
        *number = (double)cost->estimated_ns / 1e6;
        return tg_cost_is_known(cost);
    default: /* FIGURE_SAVED */
        *number = ((double)slow->cost.ns - (double)cost->ns) / 1e6;
        return tg_cost_claim(cost) == TG_COST_FIGURE && tg_cost_claim(&slow->cost) == TG_COST_FIGURE;
    }
}

static void fill_cost(const struct tg_cost *cost, const char *bound, char *cell)
{
    int digits;
    switch (tg_cost_claim(cost)) {
    case TG_COST_FIGURE:
        snprintf(cell, CELL_SIZE, "%s%.3f", bound, (double)cost->ns / 1e6);
        return;
    case TG_COST_RANGE:
        digits = cost->ns < 1000 * 1000 ? 2 : 1;
        snprintf(cell, CELL_SIZE, "%s%.*f (%.*f to %.*f)", bound, digits, (double)cost->ns / 1e6, digits,
                 (double)cost->low_ns / 1e6, digits, (double)cost->high_ns / 1e6);
        return;
    case TG_COST_UNKNOWN:
        strcpy(cell, tg_cost_is_known(cost) ? "not claimed" : "unknown");
        return;
    }
}

/* The share that is saved at least, where there are ranges. */
static void fill_saved(const struct tg_cost *cost, const struct tg_cost *slow, char *cell)
{
    bool known = tg_cost_claim(cost) != TG_COST_UNKNOWN && tg_cost_claim(slow) != TG_COST_UNKNOWN;
    if (known && cost->high_ns < slow->low_ns)
        snprintf(cell, CELL_SIZE, ">= %.1f%%", 100 - 100 * (double)cost->high_ns / (double)slow->low_ns);
    else
        strcpy(cell, "-");
}

static void fill_figure(const struct figure *figure, const struct tg_filter_evaluation *evaluation,
                        const struct tg_filter_column *column, char *cell)
{
    const struct tg_filter_outcome *outcome = column->outcome;
    const char *bound = evaluation->survey.unseen && column->mode != TG_FILTER_FAST ? ">= " : "";
    char text[TG_QUANTITY_SIZE];
    double number = 0;
    switch ((int)figure->kind) {
    case FIGURE_COUNT:
    case FIGURE_BOUND:
    case FIGURE_UNSEEN:
    case FIGURE_HITS:
    case FIGURE_MISSED:
        snprintf(cell, CELL_SIZE, "%s%s", is_bound(figure->kind, evaluation, column) ? ">= " : "",
                 tg_quantity_count(count_of(figure, outcome), text));
        return;
    case FIGURE_WINDOW:
        strcpy(cell, "-");
        if (outcome->planting.late > 0)
            tg_quantity_duration(count_at(outcome, figure->offset), cell);
        return;
    case FIGURE_SAVED:
        if (column->mode == TG_FILTER_SLOW || evaluation->slow->cost.ns == 0)
            strcpy(cell, "-");
        else if (number_of(figure, outcome, evaluation->slow, &number))
            snprintf(cell, CELL_SIZE, "%.1f%%", 100 * number / ((double)evaluation->slow->cost.ns / 1e6));
        else
            fill_saved(&outcome->cost, &evaluation->slow->cost, cell);
        return;
    case FIGURE_COST:
        fill_cost(&outcome->cost, bound, cell);
        return;
    case FIGURE_MEASURED:
        if (number_of(figure, outcome, NULL, &number))
            snprintf(cell, CELL_SIZE, "%.0f%%", number);
        else
            strcpy(cell, "-");
        return;
    default: /* FIGURE_MEAN */
        if (number_of(figure, outcome, NULL, &number))
            snprintf(cell, CELL_SIZE, "%.2f", number);
        else
            strcpy(cell, "-");
        return;
    }
}

void tg_filter_table_outcome_json(struct tg_json *json, const struct tg_filter_evaluation *evaluation,
                                  const struct tg_filter_outcome *outcome)
{
    for (const struct figure *figure = figures; figure < figures + sizeof figures / sizeof *figures;
         figure++) {
        double number;
        tg_json_key(json, figure->key);
        if (figure->kind == FIGURE_CUDA)
            tg_json_bool(json, outcome->defers_cuda);
        else if (figure->kind <= FIGURE_WINDOW)
            tg_json_unsigned(json, count_of(figure, outcome));
        else if (number_of(figure, outcome, evaluation->slow, &number))
            tg_json_double(json, number, 6);
        else
            tg_json_null(json);
    }
}

/* ---- tables */

/* A table whose first N_LEAD columns are texts and whose others are the settings, and FURTHER one if that is not
 * NULL. */
static struct tg_error *create_table(const struct tg_filter_evaluation *evaluation, const char *const *lead,
                                     size_t n_lead, const char *further, bool colour,
                                     struct tg_text_table **table)
{
    char labels[TG_FILTER_MAX_LANES][34];
    const char *headings[TG_TEXT_TABLE_MAX_COLUMNS + 1] = {NULL};
    size_t count = 0;
    for (; count < n_lead; count++)
        headings[count] = lead[count];
    for (size_t i = 0; i < evaluation->n_columns && count < TG_TEXT_TABLE_MAX_COLUMNS; i++) {
        snprintf(labels[i], sizeof labels[i], ">%s", evaluation->columns[i].label);
        headings[count++] = labels[i];
    }
    if (count < TG_TEXT_TABLE_MAX_COLUMNS)
        headings[count] = further;
    return tg_text_table_create(headings, colour, table);
}

struct tg_error *tg_filter_table_outcomes(const struct tg_filter_evaluation *evaluation, bool colour,
                                          FILE *stream)
{
    struct tg_text_table *table = NULL;
    struct tg_error *error = create_table(evaluation, (const char *[]){""}, 1, NULL, colour, &table);
    for (size_t f = 0; error == NULL && f < sizeof figures / sizeof *figures; f++) {
        char texts[TG_FILTER_MAX_LANES][CELL_SIZE];
        const char *cells[TG_TEXT_TABLE_MAX_COLUMNS] = {figures[f].heading};
        if (figures[f].heading == NULL || (figures[f].shown != NULL && !figures[f].shown(evaluation)))
            continue;
        for (size_t i = 0; i < evaluation->n_columns; i++) {
            fill_figure(&figures[f], evaluation, &evaluation->columns[i], texts[i]);
            cells[i + 1] = texts[i];
        }
        error = tg_text_table_add(table, cells);
    }
    if (error == NULL)
        error = tg_text_table_print(table, stream);
    tg_text_table_destroy(table);
    return error;
}

/* ---- breakpoints */

static void fill_planting(const struct tg_break_goal *goal, const struct tg_planting *planting, char *cell)
{
    char window[TG_QUANTITY_SIZE], count[3][TG_QUANTITY_SIZE];
    size_t used = 0;
    uint64_t total = planting->in_time + planting->late + planting->never;
    cell[0] = '\0';
    if (planting->unknown > 0 && total == 0) {
        strcpy(cell, "not known");
        return;
    }
    if (total == 0) {
        strcpy(cell, goal->state == TG_GOAL_UNKNOWN ? "not known" : "-");
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
        snprintf(cell, CELL_SIZE, "%s%s", tg_quantity_count(goal->places, count),
                 goal->perhaps > 0 ? " or more" : "");
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

void tg_filter_table_goal_json(struct tg_json *json, const struct tg_planting *planting)
{
    tg_json_member_unsigned(json, "in_time", planting->in_time);
    tg_json_member_unsigned(json, "late", planting->late);
    tg_json_member_unsigned(json, "never", planting->never);
    tg_json_member_unsigned(json, "unknown", planting->unknown);
    tg_json_member_unsigned(json, "worst_window_ns", planting->worst_window_ns);
}

static bool survey_is_blind(const struct tg_filter_evaluation *evaluation)
{
    return evaluation->survey.unseen || evaluation->survey.incomplete;
}

struct tg_error *tg_filter_table_goals(const struct tg_filter_evaluation *evaluation, bool colour,
                                       FILE *stream)
{
    const struct tg_break_goals *goals = &evaluation->survey.goals;
    if (goals->count == 0)
        return NULL;
    struct tg_text_table *table = NULL;
    struct tg_error *error =
        create_table(evaluation, (const char *[]){"breakpoint", ">libraries"}, 2, NULL, colour, &table);
    bool unknown = false;
    for (size_t g = 0; error == NULL && g < goals->count; g++) {
        char texts[TG_FILTER_MAX_LANES][CELL_SIZE], name[256], state[CELL_SIZE];
        const char *cells[TG_TEXT_TABLE_MAX_COLUMNS] = {name, state};
        tg_printable(goals->items[g].text, name, sizeof name);
        fill_state(&goals->items[g], state);
        unknown |= goals->items[g].state == TG_GOAL_UNKNOWN;
        for (size_t i = 0; i < evaluation->n_columns; i++) {
            fill_planting(&goals->items[g], &evaluation->columns[i].outcome->goals[g], texts[i]);
            cells[i + 2] = texts[i];
        }
        error = tg_text_table_add(table, cells);
    }
    if (error == NULL) {
        putc('\n', stream);
        error = tg_text_table_print(table, stream);
    }
    if (error == NULL && unknown)
        fputs(survey_is_blind(evaluation)
                  ? "unknown: the recording did not see all libraries, so nobody can say which one has the "
                    "breakpoint; record with --mode slow\n"
                  : "unknown: neither the trace nor a file here says which libraries have the breakpoint; "
                    "record "
                    "with --break, or name the library: LIBRARY`FUNCTION\n",
              stream);
    tg_text_table_destroy(table);
    return error;
}

/* ---- simulation */

enum result_kind {
    RESULT_COUNT,
    RESULT_ADDED_MS,
    RESULT_COMPLETION_MS,
    RESULT_BUSY,
    RESULT_MEAN_MS,
    RESULT_MAX_MS
};

static const struct result {
    const char *key, *heading; /* HEADING NULL: in JSON alone */
    enum result_kind kind;
    size_t offset; /* of a count in struct tg_simulation_result */
    int decimals, json_decimals;
} results[] = {
    {"requests", "requests to clients", RESULT_COUNT, offsetof(struct tg_simulation_result, requests), 0, 0},
    {"completion_ms", NULL, RESULT_COMPLETION_MS, 0, 3, 6},
    {"added_ms", "completion added, ms", RESULT_ADDED_MS, 0, 3, 6},
    {"client_busy_percent", "clients busy, %", RESULT_BUSY, 0, 1, 3},
    {"max_queue", "longest queue", RESULT_COUNT, offsetof(struct tg_simulation_result, max_queue), 0, 0},
    {"mean_wait_ms", "mean wait, ms", RESULT_MEAN_MS, 0, 3, 6},
    {"max_wait_ms", "longest wait, ms", RESULT_MAX_MS, 0, 3, 6},
};

static uint64_t result_count(const struct result *result, const struct tg_simulation_result *simulated)
{
    uint64_t count;
    memcpy(&count, (const char *)simulated + result->offset, sizeof count);
    return count;
}

static double result_number(const struct result *result, const struct tg_simulation_result *simulated)
{
    switch ((int)result->kind) {
    case RESULT_COMPLETION_MS:
        return (double)simulated->completion_ns / 1e6;
    case RESULT_ADDED_MS:
        return (double)(simulated->completion_ns - simulated->native_ns) / 1e6;
    case RESULT_BUSY:
        return simulated->client_busy * 100;
    case RESULT_MEAN_MS:
        return simulated->mean_wait_ns / 1e6;
    default: /* RESULT_MAX_MS */
        return (double)simulated->max_wait_ns / 1e6;
    }
}

void tg_filter_table_simulation_json(struct tg_json *json, const struct tg_simulation_result *simulated)
{
    for (const struct result *result = results; result < results + sizeof results / sizeof *results; result++)
        if (result->kind == RESULT_COUNT)
            tg_json_member_unsigned(json, result->key, result_count(result, simulated));
        else
            tg_json_member_double(json, result->key, result_number(result, simulated), result->json_decimals);
}

/* Whether the suggestion is one of the columns. */
static bool is_shown(const struct tg_filter_evaluation *evaluation)
{
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        const struct tg_filter_column *column = &evaluation->columns[i];
        if (column->mode == evaluation->suggestion.mode &&
            (column->mode != TG_FILTER_MEDIUM || strcmp(column->match, evaluation->suggestion.match) == 0))
            return true;
    }
    return false;
}

/* Of a column whose events are a lower bound: more of them add no less time; how long they wait depends on when they come. */
static void fill_result(const struct result *result, const struct tg_simulation_result *simulated,
                        bool is_bound, char cell[CELL_SIZE])
{
    char count[TG_QUANTITY_SIZE];
    bool has_bound =
        result->kind == RESULT_ADDED_MS ||
        (result->kind == RESULT_COUNT && result->offset == offsetof(struct tg_simulation_result, requests));
    if (is_bound && !has_bound)
        snprintf(cell, CELL_SIZE, "not known");
    else if (result->kind == RESULT_COUNT)
        snprintf(cell, CELL_SIZE, "%s%s", is_bound ? ">= " : "",
                 tg_quantity_count(result_count(result, simulated), count));
    else
        snprintf(cell, CELL_SIZE, "%s%.*f", is_bound ? ">= " : "", result->decimals,
                 result_number(result, simulated));
}

struct tg_error *tg_filter_table_simulation(const struct tg_filter_evaluation *evaluation, bool colour,
                                            FILE *stream)
{
    struct tg_text_table *table = NULL;
    bool further = evaluation->suggestion.has_simulation && !is_shown(evaluation);
    struct tg_error *error =
        create_table(evaluation, (const char *[]){""}, 1, further ? ">Suggested" : NULL, colour, &table);
    for (size_t r = 0; error == NULL && r < sizeof results / sizeof *results; r++) {
        char texts[TG_FILTER_MAX_LANES][CELL_SIZE];
        const char *cells[TG_TEXT_TABLE_MAX_COLUMNS] = {results[r].heading};
        if (results[r].heading == NULL)
            continue;
        for (size_t i = 0; i < evaluation->n_columns + further; i++) {
            bool is_column = i < evaluation->n_columns;
            const struct tg_simulation_result *simulated =
                is_column ? &evaluation->columns[i].simulation : &evaluation->suggestion.simulation;
            enum tg_filter_mode mode = is_column ? evaluation->columns[i].mode : evaluation->suggestion.mode;
            fill_result(&results[r], simulated, evaluation->survey.unseen && mode != TG_FILTER_FAST,
                        texts[i]);
            cells[i + 1] = texts[i];
        }
        error = tg_text_table_add(table, cells);
    }
    if (error == NULL)
        error = tg_text_table_print(table, stream);
    tg_text_table_destroy(table);
    return error;
}
