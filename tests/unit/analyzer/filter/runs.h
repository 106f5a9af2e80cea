/* Scripts of events, run through the filter's modes. */
#ifndef TG_TESTS_UNIT_ANALYZER_FILTER_RUNS_H
#define TG_TESTS_UNIT_ANALYZER_FILTER_RUNS_H

#include "analyzer/filter/model.h"
#include "tests/unit/analyzer/filter/events.h"

#include <stdio.h>

enum { SLOW, MEDIUM, FAST, LANES };

/* A script run through Slow, Medium with one list, and Fast; predictions of each lane as text. */
struct run {
    struct tg_filter_survey survey;
    struct tg_dlopen_filter filters[LANES];
    struct tg_filter_model *model;
    char said[LANES][4096];
};

static inline struct tg_error *note(void *context, const struct tg_filter_prediction *prediction)
{
    struct run *run = context;
    char *said = run->said[prediction->lane];
    size_t used = strlen(said), room = sizeof run->said[0] - used;
    static const char *const decisions[] = {"reported", "deferred", "not_stopped"};
    static const char *const triggers[] = {"reported_event", "entry", "signal", "fork",       "thread",
                                           "breakpoint",     "exit",  "detach", "group_stop", "halt"};
    if (prediction->kind == TG_PREDICTED_HANDLING) {
        snprintf(said + used, room, "%s(%d,%d) ", triggers[prediction->trigger], (int)prediction->events,
                 (int)prediction->n_libraries);
        return NULL;
    }
    snprintf(said + used, room, "%s[", decisions[prediction->decision]);
    for (uint64_t i = 0; i < prediction->n_libraries; i++) {
        used = strlen(said);
        snprintf(said + used, sizeof run->said[0] - used, "%s%s", i > 0 ? " " : "", prediction->libraries[i]);
    }
    used = strlen(said);
    snprintf(said + used, sizeof run->said[0] - used, "] ");
    return NULL;
}

/* RECORDED_LANE: which one, if any; it follows the script's settings. IN_PROCESS: bits of lanes decided about there. */
static inline void run_script_as(struct run *run, const struct script *script, const char *match,
                                 size_t recorded_lane, unsigned in_process)
{
    memset(run, 0, sizeof *run);
    assert_null(tg_filter_survey_init(&run->survey));
    for (size_t i = 0; i < script->count; i++)
        assert_null(tg_filter_survey_add(&run->survey, &script->events[i]));
    assert_null(tg_filter_survey_finish(&run->survey, NULL, NULL));
    for (size_t i = 0; i < LANES; i++)
        assert_null(tg_dlopen_filter_init(&run->filters[i]));
    assert_null(tg_dlopen_filter_set(&run->filters[MEDIUM], false, match));
    assert_null(tg_dlopen_filter_set(&run->filters[FAST], false, ""));
    struct tg_filter_model_options options = {.survey = &run->survey,
                                              .filters = run->filters,
                                              .n_filters = LANES,
                                              .in_process_lanes = in_process,
                                              .recorded_lane = recorded_lane,
                                              .follows = recorded_lane != SIZE_MAX,
                                              .keep_timelines = true,
                                              .predict = note,
                                              .context = run};
    assert_null(tg_filter_model_create(&options, &run->model));
    for (size_t i = 0; i < script->count; i++)
        assert_null(tg_filter_model_add(run->model, &script->events[i]));
    assert_null(tg_filter_model_finish(run->model));
}

static inline void run_script_recorded(struct run *run, const struct script *script, const char *match,
                                       size_t recorded_lane)
{
    run_script_as(run, script, match, recorded_lane, 0);
}

static inline void run_script(struct run *run, const struct script *script, const char *match)
{
    run_script_recorded(run, script, match, SIZE_MAX);
}

static inline const struct tg_filter_outcome *outcome(const struct run *run, size_t lane)
{
    return tg_filter_model_outcome(run->model, lane);
}

static inline void end_run(struct run *run)
{
    tg_filter_model_destroy(run->model);
    for (size_t i = 0; i < LANES; i++)
        tg_dlopen_filter_deinit(&run->filters[i]);
    tg_filter_survey_deinit(&run->survey);
}

#endif
