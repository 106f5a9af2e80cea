/* The outcome of a recorded run under each dlopen filter setting. A pure model: state + event -> state and
 * predictions; all settings ("lanes") are followed in one reading.
 *
 * Slow: every dlopen event is reported, one client round trip each. Medium: the glob-list decides; libraries
 * of deferred events wait for the process's next stop for another reason, or for its next reported event, and
 * are handled there together. Fast: no loader stop at all; libraries wait for the next other stop. Other
 * stops are entry, signal, group stop, breakpoint, fork, thread start, thread or process exit, detach. An
 * exec drops what waits. */
#ifndef TG_ANALYZER_FILTER_MODEL_H
#define TG_ANALYZER_FILTER_MODEL_H

#include "analyzer/filter/simulation.h"
#include "analyzer/filter/survey.h"
#include "format/settings/dlopen_filter.h"

enum { TG_FILTER_MAX_LANES = 16 };

/* How the breakpoints wanted fared in one lane. One count is one breakpoint in one library of one process. */
struct tg_planting {
    uint64_t in_time;
    uint64_t late;
    uint64_t never;           /* the library went, or the program was replaced or ended, before any stop */
    uint64_t unknown;         /* late or never, if the library has it at all, which is not known */
    uint64_t worst_window_ns; /* longest time in which the program could run past a late one */
};

/* Totals of one lane. */
struct tg_filter_outcome {
    uint64_t stops;         /* loader stops: those with dlopen events, and the next three */
    uint64_t null_stops;    /* nothing had changed */
    uint64_t unload_stops;  /* libraries went; nothing to plant */
    uint64_t startup_stops; /* showed the libraries that the program starts with */
    uint64_t reported;
    uint64_t deferred;           /* deferred, or in fast mode not stopped for */
    uint64_t round_trips;        /* times that a client handles libraries of a process */
    uint64_t handled_libraries;  /* in these round trips */
    uint64_t max_batch;          /* most libraries in one of them */
    uint64_t deferred_batches;   /* round trips that handled deferred libraries... */
    uint64_t deferred_libraries; /* ...and how many of these */
    uint64_t dropped_libraries;  /* unloaded, or gone with exec, before anybody handled them */
    uint64_t hits;               /* the recording's hits of breakpoints... */
    uint64_t missed_hits;        /* ...and how many would not be: not planted by then */
    bool defers_cuda;            /* an event that brought a CUDA driver library was not reported */
    struct tg_planting planting; /* over all goals */
    struct tg_planting *goals;   /* one for each of the survey's */
    struct tg_cost cost;         /* time that loader stops and handling took from the program */
};

enum tg_prediction_kind {
    TG_PREDICTED_DECISION, /* as the recorder would have written it: filter_decision... */
    TG_PREDICTED_HANDLING, /* ...and deferred_handled */
};

/* One predicted event. Strings live as long as the filters and the survey; the list of libraries for the
 * call. */
struct tg_filter_prediction {
    enum tg_prediction_kind kind;
    size_t lane;
    uint64_t time_ns;
    int32_t pid;
    int64_t rank;  /* -1: not a rank, or not known yet */
    bool by_agent; /* the process's loads were seen without stops: nobody decided anything there */
    /* decision; in fast mode it comes when the libraries are found, with all of them */
    enum tg_filter_decision decision;
    enum tg_filter_rule rule;
    const char *pattern; /* "" for a default */
    const char *library;
    /* handling */
    enum tg_stop_trigger trigger;
    uint64_t events;
    /* both */
    uint64_t n_libraries;
    const char *const *libraries; /* paths; NULL for handling */
};

struct tg_filter_model_options {
    const struct tg_filter_survey *survey;  /* finished; must live as long as the model */
    const struct tg_dlopen_filter *filters; /* one for each lane; likewise */
    size_t n_filters;                       /* [1, TG_FILTER_MAX_LANES] */
    unsigned
        in_process_lanes; /* lanes (bits) in which the process stops for reported events alone: see loads.c */
    size_t recorded_lane; /* the setting that the trace was recorded under; SIZE_MAX: none */
    bool follows; /* the recorded lane's setting changes where the trace's does; its filter counts until
                     then */
    bool keep_timelines; /* for simulation; costs memory for every round trip */
    /* NULL: not interested. An error ends tg_filter_model_add with it. */
    struct tg_error *(*predict)(void *context, const struct tg_filter_prediction *prediction);
    void *context;
};

struct tg_filter_model;

struct tg_error *tg_filter_model_create(const struct tg_filter_model_options *options,
                                        struct tg_filter_model **model);
void tg_filter_model_destroy(struct tg_filter_model *model);

/* Feeds one event, in trace order: the same trace that the survey has seen. */
struct tg_error *tg_filter_model_add(struct tg_filter_model *model, const struct tg_event *event);

/* After the last event: what still waits in processes that never ended is never handled. */
struct tg_error *tg_filter_model_finish(struct tg_filter_model *model);

/* Totals of LANE, valid as long as MODEL. */
const struct tg_filter_outcome *tg_filter_model_outcome(const struct tg_filter_model *model, size_t lane);

/* Timelines of LANE after finish: of the processes that made MPI calls, where there are none of those with a
 * rank, else of every process; always of those with a dlopen event alone. Valid as long as MODEL. */
const struct tg_timeline *tg_filter_model_timelines(const struct tg_filter_model *model, size_t lane,
                                                    size_t *count);

#endif
