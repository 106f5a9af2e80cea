/* Shared by the files of the filter model. */
#ifndef TG_ANALYZER_FILTER_MODEL_INTERNAL_H
#define TG_ANALYZER_FILTER_MODEL_INTERNAL_H

#include "analyzer/filter/model.h"
#include "analyzer/filter/pace.h"
#include "analyzer/filter/process.h"
#include "analyzer/filter/verdict_cache.h"

/* Namespaces from here on are treated as one; the recorder tells no more apart either. */
enum { TG_FILTER_LAST_NAMESPACE = 63 };

struct tg_lane {
    const struct tg_dlopen_filter *filter;
    bool fast; /* in fast mode; false for the lane that follows the recording, which sees what was recorded */
    bool in_process; /* decided about in the process: no stop but for reported events */
    struct tg_verdict_cache verdicts;
    struct tg_filter_outcome outcome;
    struct tg_timeline *timelines; /* of processes that ended: [0, n_timelines) of the model */
    size_t timelines_capacity;
};

struct tg_filter_model {
    struct tg_filter_model_options options;
    const struct tg_cost_basis *basis;
    struct tg_pace pace;
    struct tg_filter_process *processes;   /* uthash by pid */
    struct tg_filter_process *recent;      /* the latest one asked for, NULL none */
    struct tg_catalog_library **libraries; /* of the event in hand */
    bool *again;         /* for each of these: loaded again where it had been, see analyzer/filter/loads.c */
    unsigned fast_lanes; /* bits of the lanes that are fast */
    struct tg_dlopen_filter followed; /* the recorded lane's filter, where that follows the trace's */
    const char **paths;               /* of the prediction in hand */
    size_t libraries_capacity, again_capacity, paths_capacity;
    size_t n_timelines;
    enum tg_process_role timelines_of;
    struct tg_lane lanes[];
};

/* The fate of a breakpoint requested in one library. */
enum tg_goal_fate {
    TG_FATE_IN_TIME,
    TG_FATE_LATE,
    TG_FATE_NEVER,
};

void tg_planting_count(struct tg_planting *planting, enum tg_goal_fate fate, uint64_t window_ns);

/* Counts FATE for every breakpoint wanted in LIBRARY. */
void tg_lane_plant_goals(struct tg_lane *lane, const struct tg_catalog_library *library,
                         enum tg_goal_fate fate, uint64_t window_ns);

const struct tg_catalog_library *tg_filter_library_at(const struct tg_filter_model *model, uint32_t id);

/* A client handles LIBRARIES of lane INDEX now: COST is its work, during which the program is stopped. */
struct tg_error *tg_lane_request_client(struct tg_filter_model *model, struct tg_filter_process *process,
                                        size_t index, uint64_t time_ns, uint64_t libraries,
                                        const struct tg_cost *cost);

/* Predicts a decision on the first COUNT of the model's libraries. */
struct tg_error *tg_lane_predict_decision(struct tg_filter_model *model,
                                          const struct tg_filter_process *process, size_t index,
                                          uint64_t time_ns, size_t count,
                                          const struct tg_filter_prediction *decided);

/* Takes everything that waits in the lane out of the log, and counts the fate of its breakpoints. */
void tg_lane_settle(struct tg_filter_model *model, struct tg_filter_process *process, size_t index,
                    enum tg_goal_fate fate, uint64_t time_ns);

/* Handles the waiting libraries of lane INDEX: predicts the handling, settles it and adds its cost to
 * COST. FINAL: the program will not run any more. */
struct tg_error *tg_lane_take_waiting(struct tg_filter_model *model, struct tg_filter_process *process,
                                      size_t index, enum tg_stop_trigger trigger, uint64_t time_ns,
                                      bool final, struct tg_cost *cost);

/* A stop for another reason: handles the waiting libraries of all lanes but those with a bit in EXCEPT. */
struct tg_error *tg_filter_handle_waiting(struct tg_filter_model *model, struct tg_filter_process *process,
                                          enum tg_stop_trigger trigger, uint64_t time_ns, bool final,
                                          unsigned except);

/* Drops the waiting libraries, which are never handled: the program image is gone. */
void tg_filter_drop_waiting(struct tg_filter_model *model, struct tg_filter_process *process);

/* The process has ended: its timelines move to the lanes, if it is one of those that are kept. */
struct tg_error *tg_filter_keep_timelines(struct tg_filter_model *model, struct tg_filter_process *process);

/* Libraries that were found, by a dlopen or at the start of a program. */
struct tg_error *tg_filter_add_load(struct tg_filter_model *model, struct tg_filter_process *process,
                                    const struct tg_event *event);
struct tg_error *tg_filter_add_unload(struct tg_filter_model *model, struct tg_filter_process *process,
                                      const struct tg_event *event);
/* A loader stop without libraries to handle: with IS_NULL nothing had changed, else libraries went. */
void tg_filter_add_loader_stop(struct tg_filter_model *model, struct tg_filter_process *process,
                               const struct tg_event *event, bool is_null);

#endif
