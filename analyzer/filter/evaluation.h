/* One evaluation of dlopen filters on a trace file: reads it as often as the models need, keeps the
 * results. */
#ifndef TG_ANALYZER_FILTER_EVALUATION_H
#define TG_ANALYZER_FILTER_EVALUATION_H

#include "analyzer/filter/check.h"
#include "analyzer/filter/model.h"
#include "analyzer/filter/suggestion.h"
#include "analyzer/output/progress.h"
#include "format/trace/reader.h"

/* Settings side by side in one evaluation. */
enum { TG_FILTER_MAX_COLUMNS = TG_FILTER_MAX_LANES - 2 };

/* Parameters. Strings are borrowed and must live as long as the evaluation. */
struct tg_filter_request {
    const char *trace; /* a file, not "-": it is read more than once */
    const char *const *matches;
    size_t n_matches;
    const char *const *breaks;
    size_t n_breaks;
    bool modes[3]; /* enum tg_filter_mode: columns wanted; none set: all */
    bool
        in_process; /* columns of Medium, decided about in the process, wanted; or where the trace was so recorded */
    bool suggest;
    bool has_simulation;
    struct tg_simulation_options simulation; /* round_trip_ns UINT64_MAX: the measured stop floor */
    const struct tg_stop_cost *floor;        /* calibrated; NULL: the recorded one */
    struct tg_error *(*measure_floor)(
        struct tg_stop_cost *floor); /* where the trace has none; NULL: nothing does */
    tg_find_breaks *find_breaks;     /* looks into files; NULL: nothing does */
    /* NULL: not interested. Predictions for the columns; prediction->lane is the column. */
    struct tg_error *(*predict)(void *context, const struct tg_filter_prediction *prediction);
    void *context;
    struct tg_progress *progress; /* NULL: none */
};

/* One setting that is shown. */
struct tg_filter_column {
    enum tg_filter_mode mode;
    const char *match;
    bool in_process;
    char label[32];   /* "Slow", "Medium", "Medium B", "Medium (in process)", "Fast" */
    bool as_recorded; /* the setting under which the trace was recorded */
    const struct tg_filter_outcome *outcome;
    bool has_simulation;
    struct tg_simulation_result simulation;
};

struct tg_filter_suggestion {
    enum tg_filter_mode mode;
    const char *match;
    const struct tg_filter_outcome *outcome; /* of a replay of just this setting */
    bool unknown_goals; /* some breakpoint may be where nobody looks: only Slow is safe */
    bool colon;
    size_t wanted;
    bool has_simulation;
    struct tg_simulation_result simulation, slow_simulation; /* of this setting, and of Slow */
};

/* Initialise to zero; free with deinit. Members are for reading. */
struct tg_filter_evaluation {
    struct tg_filter_survey survey;
    struct tg_trace_summary summary;
    struct tg_error *damage; /* the trace is damaged in its middle: read up to there; NULL where it is not */
    struct tg_filter_column columns[TG_FILTER_MAX_COLUMNS];
    size_t n_columns;
    const struct tg_filter_outcome *slow; /* outcome of Slow, which savings are compared with */
    bool has_check;
    struct tg_filter_check_result check;
    bool has_simulation;
    struct tg_simulation_options simulation;
    size_t simulated_from; /* timelines observed */
    bool has_suggestion;
    struct tg_filter_suggestion suggestion;
    /* owned by the evaluation */
    struct tg_dlopen_filter filters[TG_FILTER_MAX_LANES];
    size_t n_filters;
    unsigned in_process_lanes; /* bits of the filters */
    size_t recorded_lane; /* of the filters; it follows the trace's changes of setting. SIZE_MAX: not known */
    struct tg_filter_model *model;
    struct tg_suggestion_lists lists;
    struct tg_dlopen_filter trial_filters[TG_SUGGESTION_MAX_LISTS + 2];
    size_t n_trial_filters;
    struct tg_filter_model *trial_model;
};

/* Errors: those of the reader, bad breakpoints and glob-lists, LIMIT beyond the models' bounds. */
struct tg_error *tg_filter_evaluate(const struct tg_filter_request *request,
                                    struct tg_filter_evaluation *evaluation);
void tg_filter_evaluation_deinit(struct tg_filter_evaluation *evaluation);

#endif
