#include "analyzer/filter/evaluation.h"

#include <stdio.h>
#include <string.h>

/* The receivers of predictions in one reading. */
struct feed {
    const struct tg_filter_request *request;
    size_t n_columns;
    size_t check_lane; /* SIZE_MAX: none */
    struct tg_filter_check *check;
};

void tg_filter_evaluation_deinit(struct tg_filter_evaluation *evaluation)
{
    tg_filter_model_destroy(evaluation->model);
    tg_filter_model_destroy(evaluation->trial_model);
    tg_suggestion_lists_deinit(&evaluation->lists);
    for (size_t i = 0; i < evaluation->n_filters; i++)
        tg_dlopen_filter_deinit(&evaluation->filters[i]);
    for (size_t i = 0; i < evaluation->n_trial_filters; i++)
        tg_dlopen_filter_deinit(&evaluation->trial_filters[i]);
    tg_filter_survey_deinit(&evaluation->survey);
    tg_error_destroy(evaluation->damage);
    *evaluation = (struct tg_filter_evaluation){0};
}

/* ---- reading ---- */

typedef struct tg_error *visitor(void *context, const struct tg_event *event);

/* Visits up to the end, or to a damaged place, which every reading finds; *DAMAGE keeps the first error. */
static struct tg_error *visit(struct tg_trace_reader *reader, visitor *visit_event, void *context,
                              struct tg_error **damage)
{
    for (;;) {
        const struct tg_event *event = NULL;
        struct tg_error *error = tg_trace_reader_next(reader, &event);
        if (error != NULL && tg_error_code(error) == TG_ERROR_INPUT) {
            if (*damage == NULL)
                *damage = error;
            else
                tg_error_destroy(error);
            return NULL;
        }
        if (error != NULL || event == NULL)
            return error;
        error = visit_event(context, event);
        if (error != NULL)
            return error;
    }
}

/* The kinds that survey, model and check look at; of the others only stops count. Simulations need the end of
 * every process that is still running, and so every event. */
static bool is_of_interest(const void *context, unsigned kind)
{
    (void)context;
    switch (kind) {
    case TG_EVENT_PROCESS_START:
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_THREAD_START:
    case TG_EVENT_THREAD_EXIT:
    case TG_EVENT_EXEC:
    case TG_EVENT_ENTRY:
    case TG_EVENT_DETACH:
    case TG_EVENT_PROGRAM:
    case TG_EVENT_IDENTITY:
    case TG_EVENT_SIGNAL:
    case TG_EVENT_GROUP_STOP:
    case TG_EVENT_CONTROL_STOPPED:
    case TG_EVENT_LIBRARY_LOAD:
    case TG_EVENT_LIBRARY_NULL:
    case TG_EVENT_LIBRARY_UNLOAD:
    case TG_EVENT_BREAKPOINT_SPEC:
    case TG_EVENT_BREAKPOINT_PLANTED:
    case TG_EVENT_BREAKPOINT_REMOVED:
    case TG_EVENT_BREAKPOINT_HIT:
    case TG_EVENT_WATCH_HIT:
    case TG_EVENT_FILTER_SETTINGS:
    case TG_EVENT_FILTER_DECISION:
    case TG_EVENT_DEFERRED_HANDLED:
    case TG_EVENT_TRACER_WAIT:
    case TG_EVENT_STOP_PRICE:
    case TG_EVENT_LOSS:
        return true;
    default:
        return false;
    }
}

static struct tg_error *survey_event(void *context, const struct tg_event *event)
{
    return tg_filter_survey_add(context, event);
}

/* An error of measuring is nobody's: the answer says that the cost is not known. */
static void choose_floor(const struct tg_filter_request *request, struct tg_filter_survey *made)
{
    struct tg_stop_cost floor;
    if (request->floor != NULL) {
        tg_filter_survey_use_floor(made, request->floor);
    } else if (request->measure_floor != NULL && made->basis.floor_source == TG_COST_FLOOR_NONE) {
        struct tg_error *error = request->measure_floor(&floor);
        if (error == NULL)
            tg_filter_survey_use_floor(made, &floor);
        tg_error_destroy(error);
    }
}

static struct tg_error *survey(const struct tg_filter_request *request,
                               struct tg_filter_evaluation *evaluation)
{
    struct tg_error *error = tg_filter_survey_init(&evaluation->survey);
    for (size_t i = 0; error == NULL && i < request->n_breaks; i++)
        error = tg_break_goals_want(&evaluation->survey.goals, request->breaks[i]);
    if (error != NULL)
        return error;
    struct tg_trace_reader *reader = NULL;
    error = tg_trace_reader_open(request->trace, &reader);
    if (error != NULL)
        return error;
    tg_trace_reader_want(reader, (struct tg_wanted_kinds){.wants = is_of_interest});
    tg_progress_watch(request->progress, reader);
    error = visit(reader, survey_event, &evaluation->survey, &evaluation->damage);
    if (error == NULL) {
        evaluation->summary = tg_trace_reader_summary(reader);
        evaluation->survey.incomplete = evaluation->summary.truncated || evaluation->damage != NULL;
        error =
            tg_filter_survey_finish(&evaluation->survey, tg_trace_reader_meta(reader), request->find_breaks);
    }
    tg_trace_reader_close(reader);
    if (error == NULL)
        choose_floor(request, &evaluation->survey);
    return error;
}

struct replay {
    struct tg_filter_model *model;
    bool every_event;              /* also those that are of interest for simulations alone */
    struct tg_filter_check *check; /* NULL: none */
};

static struct tg_error *replay_event(void *context, const struct tg_event *event)
{
    const struct replay *replay = context;
    struct tg_error *error = tg_filter_model_add(replay->model, event);
    if (error == NULL && replay->check != NULL)
        error = tg_filter_check_add(replay->check, event);
    return error;
}

static struct tg_error *replay_trace(const struct tg_filter_request *request, struct replay *replay,
                                     struct tg_error **damage)
{
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error = tg_trace_reader_open(request->trace, &reader);
    if (error != NULL)
        return error;
    if (!replay->every_event)
        tg_trace_reader_want(reader, (struct tg_wanted_kinds){.wants = is_of_interest});
    tg_progress_watch(request->progress, reader);
    error = visit(reader, replay_event, replay, damage);
    tg_trace_reader_close(reader);
    return error != NULL ? error : tg_filter_model_finish(replay->model);
}

/* ---- columns ---- */

static bool is_wanted(const struct tg_filter_request *request, enum tg_filter_mode mode)
{
    bool any = request->modes[0] || request->modes[1] || request->modes[2] || request->in_process;
    return !any || request->modes[mode];
}

static struct tg_error *add_filter(struct tg_dlopen_filter *filters, size_t *count, size_t max,
                                   enum tg_filter_mode mode, const char *match)
{
    if (*count == max)
        return tg_error_create(TG_ERROR_LIMIT, "too many settings (limit %zu); use fewer --match", max);
    struct tg_error *error = tg_dlopen_filter_init(&filters[*count]);
    if (error != NULL)
        return error;
    ++*count;
    return tg_dlopen_filter_set(&filters[*count - 1], mode == TG_FILTER_SLOW, match);
}

/* The column or hidden lane with this setting, SIZE_MAX where there is none. */
static size_t find_filter_as(const struct tg_filter_evaluation *evaluation, enum tg_filter_mode mode,
                             const char *match, bool in_process)
{
    for (size_t i = 0; i < evaluation->n_filters; i++) {
        const struct tg_dlopen_filter *filter = &evaluation->filters[i];
        if (filter->mode == mode && (evaluation->in_process_lanes >> i & 1) == in_process &&
            (mode != TG_FILTER_MEDIUM || strcmp(tg_glob_list_text(filter->list), match) == 0))
            return i;
    }
    return SIZE_MAX;
}

static size_t find_filter(const struct tg_filter_evaluation *evaluation, enum tg_filter_mode mode,
                          const char *match)
{
    return find_filter_as(evaluation, mode, match, false);
}

static struct tg_error *ensure_filter(struct tg_filter_evaluation *evaluation, enum tg_filter_mode mode,
                                      const char *match)
{
    if (find_filter(evaluation, mode, match) != SIZE_MAX)
        return NULL;
    return add_filter(evaluation->filters, &evaluation->n_filters, TG_FILTER_MAX_LANES, mode, match);
}

/* Medium with MATCH, as it is and decided about in the process, as far as that is wanted. */
static struct tg_error *ensure_medium(const struct tg_filter_request *request,
                                      struct tg_filter_evaluation *evaluation, const char *match)
{
    bool in_process = request->in_process || evaluation->survey.in_process_events > 0;
    struct tg_error *error = NULL;
    if (match[0] == '\0')
        return NULL;
    if (is_wanted(request, TG_FILTER_MEDIUM))
        error = ensure_filter(evaluation, TG_FILTER_MEDIUM, match);
    if (error != NULL || !in_process || find_filter_as(evaluation, TG_FILTER_MEDIUM, match, true) != SIZE_MAX)
        return error;
    error =
        add_filter(evaluation->filters, &evaluation->n_filters, TG_FILTER_MAX_LANES, TG_FILTER_MEDIUM, match);
    if (error == NULL)
        evaluation->in_process_lanes |= 1U << (evaluation->n_filters - 1);
    return error;
}

/* Whether column I has another list than the one before it. */
static bool begins_list(const struct tg_filter_evaluation *evaluation, size_t i)
{
    const struct tg_filter_column *column = &evaluation->columns[i];
    return column->mode == TG_FILTER_MEDIUM &&
           (i == 0 || column[-1].mode != TG_FILTER_MEDIUM || strcmp(column[-1].match, column->match) != 0);
}

static void label_columns(struct tg_filter_evaluation *evaluation)
{
    size_t lists = 0, named = 0;
    for (size_t i = 0; i < evaluation->n_columns; i++)
        lists += begins_list(evaluation, i);
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        struct tg_filter_column *column = &evaluation->columns[i];
        const char *suffix = column->in_process ? " (in process)" : "";
        named += begins_list(evaluation, i);
        if (column->mode != TG_FILTER_MEDIUM)
            strcpy(column->label, column->mode == TG_FILTER_SLOW ? "Slow" : "Fast");
        else if (lists == 1)
            snprintf(column->label, sizeof column->label, "Medium%s", suffix);
        else
            snprintf(column->label, sizeof column->label, "Medium %c%s", (char)('A' + named - 1), suffix);
    }
}

/* Whether the recorded lane is not that of a setting: that changed, or what did not stop was decided about all the same. */
static bool is_followed(const struct tg_filter_survey *made)
{
    return made->settings_changed || made->in_process_events > 0;
}

/* A lane for the setting that was recorded; one of its own where the recording has to be followed. */
static struct tg_error *choose_recorded_lane(struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_survey *made = &evaluation->survey;
    struct tg_error *error = NULL;
    evaluation->recorded_lane = SIZE_MAX;
    if (!made->has_settings ||
        (made->list_is_redacted && (made->settings_changed || made->mode == TG_FILTER_MEDIUM)))
        return NULL;
    if (is_followed(made))
        error = add_filter(evaluation->filters, &evaluation->n_filters, TG_FILTER_MAX_LANES, made->mode,
                           made->match);
    else
        error = ensure_filter(evaluation, made->mode, made->match);
    if (error == NULL)
        evaluation->recorded_lane =
            is_followed(made) ? evaluation->n_filters - 1 : find_filter(evaluation, made->mode, made->match);
    return error;
}

/* Slow, every Medium, Fast: then hidden lanes, for Slow's cost and for the setting that was recorded. */
static struct tg_error *choose_lanes(const struct tg_filter_request *request,
                                     struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_survey *survey_made = &evaluation->survey;
    struct tg_error *error = NULL;
    if (is_wanted(request, TG_FILTER_SLOW))
        error = ensure_filter(evaluation, TG_FILTER_SLOW, "");
    if (error == NULL)
        error = ensure_medium(request, evaluation, survey_made->match);
    for (size_t i = 0; error == NULL && i < request->n_matches; i++)
        error = ensure_medium(request, evaluation, request->matches[i]);
    if (error == NULL && is_wanted(request, TG_FILTER_FAST))
        error = ensure_filter(evaluation, TG_FILTER_FAST, "");
    if (error == NULL && evaluation->n_filters > TG_FILTER_MAX_COLUMNS)
        error = tg_error_create(TG_ERROR_LIMIT, "too many settings (limit %d); use fewer --match",
                                TG_FILTER_MAX_COLUMNS);
    if (error != NULL)
        return error;
    evaluation->n_columns = evaluation->n_filters;
    if (error == NULL)
        error = ensure_filter(evaluation, TG_FILTER_SLOW, "");
    if (error == NULL)
        error = choose_recorded_lane(evaluation);
    for (size_t i = 0; i < evaluation->n_columns; i++)
        evaluation->columns[i] = (struct tg_filter_column){
            .mode = evaluation->filters[i].mode,
            .match = tg_glob_list_text(evaluation->filters[i].list),
            .in_process = (evaluation->in_process_lanes >> i & 1) != 0,
            .as_recorded = survey_made->has_settings && !survey_made->settings_changed &&
                           i == find_filter_as(evaluation, survey_made->mode, survey_made->match,
                                               survey_made->in_process_events > 0),
        };
    label_columns(evaluation);
    return error;
}

/* ---- the main reading ---- */

static struct tg_error *feed_prediction(void *context, const struct tg_filter_prediction *prediction)
{
    struct feed *feed = context;
    struct tg_error *error = NULL;
    if (prediction->lane == feed->check_lane)
        error = tg_filter_check_predict(feed->check, prediction);
    if (error == NULL && prediction->lane < feed->n_columns && feed->request->predict != NULL)
        error = feed->request->predict(feed->request->context, prediction);
    return error;
}

static struct tg_error *replay_columns(const struct tg_filter_request *request,
                                       struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_survey *made = &evaluation->survey;
    struct feed feed = {.request = request, .n_columns = evaluation->n_columns, .check_lane = SIZE_MAX};
    struct tg_error *error = NULL;
    size_t recorded_lane = evaluation->recorded_lane;
    evaluation->has_check = recorded_lane != SIZE_MAX && made->decisions > 0;
    if (evaluation->has_check) {
        feed.check_lane = recorded_lane;
        error = tg_filter_check_create(&feed.check);
    }
    struct tg_filter_model_options options = {
        .survey = made,
        .filters = evaluation->filters,
        .n_filters = evaluation->n_filters,
        .in_process_lanes = evaluation->in_process_lanes,
        .recorded_lane = recorded_lane,
        .follows = is_followed(made),
        .keep_timelines = request->has_simulation,
        .predict = evaluation->has_check || request->predict != NULL ? feed_prediction : NULL,
        .context = &feed,
    };
    if (error == NULL)
        error = tg_filter_model_create(&options, &evaluation->model);
    if (error == NULL)
        error = replay_trace(request,
                             &(struct replay){.model = evaluation->model,
                                              .every_event = options.keep_timelines,
                                              .check = feed.check},
                             &evaluation->damage);
    if (error == NULL && feed.check != NULL)
        tg_filter_check_finish(feed.check, &evaluation->check);
    tg_filter_check_destroy(feed.check);
    for (size_t i = 0; error == NULL && i < evaluation->n_columns; i++)
        evaluation->columns[i].outcome = tg_filter_model_outcome(evaluation->model, i);
    if (error == NULL)
        evaluation->slow =
            tg_filter_model_outcome(evaluation->model, find_filter(evaluation, TG_FILTER_SLOW, ""));
    return error;
}

/* ---- simulation ---- */

static struct tg_error *simulate(const struct tg_filter_request *request,
                                 struct tg_filter_evaluation *evaluation)
{
    const struct tg_cost_basis *basis = &evaluation->survey.basis;
    evaluation->simulation = request->simulation;
    if (request->simulation.round_trip_ns == UINT64_MAX) {
        if (basis->floor_source == TG_COST_FLOOR_NONE)
            return tg_error_create(TG_ERROR_USAGE,
                                   "the trace does not record the cost of a stop, so a client's round trip "
                                   "cannot be estimated; add --round-trip-us US or --calibrate");
        evaluation->simulation.round_trip_ns = basis->floor.stop_ns;
    }
    evaluation->has_simulation = true;
    for (size_t i = 0; i < evaluation->n_columns; i++) {
        struct tg_filter_column *column = &evaluation->columns[i];
        const struct tg_timeline *timelines =
            tg_filter_model_timelines(evaluation->model, i, &evaluation->simulated_from);
        if (evaluation->simulated_from == 0)
            continue;
        struct tg_error *error =
            tg_simulate(timelines, evaluation->simulated_from, &evaluation->simulation, &column->simulation);
        if (error != NULL)
            return tg_error_prefix(error, "%s", column->label);
        column->has_simulation = true;
    }
    return NULL;
}

/* ---- suggestion ---- */

static bool has_lost_goals(const struct tg_filter_survey *made)
{
    for (size_t i = 0; i < made->goals.count; i++)
        if (tg_break_goal_is_lost(&made->goals.items[i], made->unseen || made->incomplete))
            return true;
    return false;
}

static struct tg_error *add_trial(struct tg_filter_evaluation *evaluation, enum tg_filter_mode mode,
                                  const char *match)
{
    return add_filter(evaluation->trial_filters, &evaluation->n_trial_filters, TG_SUGGESTION_MAX_LISTS + 2,
                      mode, match);
}

static struct tg_error *simulate_trial(const struct tg_filter_evaluation *evaluation, size_t lane,
                                       struct tg_simulation_result *result)
{
    size_t count = 0;
    const struct tg_timeline *timelines = tg_filter_model_timelines(evaluation->trial_model, lane, &count);
    return tg_simulate(timelines, count, &evaluation->simulation, result);
}

static struct tg_error *simulate_suggestion(struct tg_filter_evaluation *evaluation, size_t best)
{
    struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    size_t slow = 0;
    while (evaluation->trial_filters[slow].mode != TG_FILTER_SLOW)
        slow++;
    if (evaluation->simulated_from == 0)
        return NULL;
    struct tg_error *error = simulate_trial(evaluation, best, &suggestion->simulation);
    if (error == NULL)
        error = simulate_trial(evaluation, slow, &suggestion->slow_simulation);
    suggestion->has_simulation = error == NULL;
    return tg_error_prefix(error, "Suggested");
}

/* Replays every proposal next to Slow and Fast, and chooses by the results. */
static struct tg_error *suggest(const struct tg_filter_request *request,
                                struct tg_filter_evaluation *evaluation)
{
    struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    struct tg_error *error = tg_suggestion_propose(&evaluation->survey, &evaluation->lists);
    suggestion->unknown_goals = has_lost_goals(&evaluation->survey);
    if (error == NULL && !suggestion->unknown_goals) /* first, so that it wins where settings are equal */
        error = add_trial(evaluation, TG_FILTER_FAST, "");
    if (error == NULL)
        error = add_trial(evaluation, TG_FILTER_SLOW, "");
    for (size_t i = 0; error == NULL && !suggestion->unknown_goals && i < evaluation->lists.count; i++)
        error = add_trial(evaluation, TG_FILTER_MEDIUM, evaluation->lists.lists[i]);
    if (error != NULL)
        return error;
    struct tg_filter_model_options options = {.survey = &evaluation->survey,
                                              .filters = evaluation->trial_filters,
                                              .n_filters = evaluation->n_trial_filters,
                                              .recorded_lane = SIZE_MAX,
                                              .keep_timelines = evaluation->has_simulation};
    error = tg_filter_model_create(&options, &evaluation->trial_model);
    if (error == NULL)
        error = replay_trace(
            request,
            &(struct replay){.model = evaluation->trial_model, .every_event = options.keep_timelines},
            &evaluation->damage);
    if (error != NULL)
        return error;
    struct tg_suggestion_trial trials[TG_SUGGESTION_MAX_LISTS + 2];
    for (size_t i = 0; i < evaluation->n_trial_filters; i++)
        trials[i] = (struct tg_suggestion_trial){
            .mode = evaluation->trial_filters[i].mode,
            .match = tg_glob_list_text(evaluation->trial_filters[i].list),
            .outcome = tg_filter_model_outcome(evaluation->trial_model, i),
        };
    uint64_t round_trip_ns = evaluation->has_simulation ? evaluation->simulation.round_trip_ns : 0;
    size_t best = tg_suggestion_choose(trials, evaluation->n_trial_filters, round_trip_ns);
    suggestion->mode = trials[best].mode;
    suggestion->match = trials[best].match;
    suggestion->outcome = trials[best].outcome;
    suggestion->colon = evaluation->lists.colon && strchr(suggestion->match, '?') != NULL;
    suggestion->wanted = evaluation->lists.wanted;
    evaluation->has_suggestion = true;
    return evaluation->has_simulation ? simulate_suggestion(evaluation, best) : NULL;
}

/* Where no glob-list was given or recorded, the suggested one is the Medium that people compare with, before Fast. */
static void show_suggestion(const struct tg_filter_request *request, struct tg_filter_evaluation *evaluation)
{
    const struct tg_filter_suggestion *suggestion = &evaluation->suggestion;
    size_t at = evaluation->n_columns;
    if (suggestion->mode != TG_FILTER_MEDIUM || !is_wanted(request, TG_FILTER_MEDIUM) ||
        at == TG_FILTER_MAX_COLUMNS)
        return;
    for (size_t i = 0; i < evaluation->n_columns; i++)
        if (evaluation->columns[i].mode == TG_FILTER_MEDIUM)
            return;
    for (; at > 0 && evaluation->columns[at - 1].mode == TG_FILTER_FAST; at--)
        evaluation->columns[at] = evaluation->columns[at - 1];
    evaluation->n_columns++;
    evaluation->columns[at] = (struct tg_filter_column){
        .mode = suggestion->mode,
        .match = suggestion->match,
        .outcome = suggestion->outcome,
        .has_simulation = suggestion->has_simulation,
        .simulation = suggestion->simulation,
    };
    label_columns(evaluation);
}

struct tg_error *tg_filter_evaluate(const struct tg_filter_request *request,
                                    struct tg_filter_evaluation *evaluation)
{
    if (strcmp(request->trace, "-") == 0)
        return tg_error_create(TG_ERROR_USAGE, "the trace is read more than once; name a file, not \"-\"");
    struct tg_error *error = survey(request, evaluation);
    if (error == NULL)
        error = choose_lanes(request, evaluation);
    if (error == NULL)
        error = replay_columns(request, evaluation);
    if (error == NULL && request->has_simulation)
        error = simulate(request, evaluation);
    if (error == NULL && request->suggest)
        error = suggest(request, evaluation);
    if (error == NULL && evaluation->has_suggestion)
        show_suggestion(request, evaluation);
    return error;
}
