/* The controller's picture of a job, and how decisions of the run model about it are carried out. */
#ifndef TG_LIVE_CONTROL_DECISIONS_H
#define TG_LIVE_CONTROL_DECISIONS_H

#include "analyzer/job/action_points.h"
#include "analyzer/job/model.h"
#include "analyzer/job/run_model.h"
#include "analyzer/job/view.h"
#include "format/base/hash.h"
#include "live/control/orders.h"

struct tg_controlled_thread {
    int32_t tid;
    struct tg_thread_id id;
    enum tg_job_state state; /* why it is stopped, where it is */
    uint64_t pc;
    bool is_kind_known; /* manager or worker */
    UT_hash_handle hh;
};

struct tg_controlled_process {
    int32_t pid;
    struct tg_process_groups groups;
    bool is_of_ranks; /* the control group is one of ranks */
    bool is_killed;
    struct tg_controlled_thread *threads; /* by tid */
    UT_hash_handle hh;
};

struct tg_controller {
    const struct tg_controller_orders *orders;
    void *engine;
    struct tg_job_model *job;
    struct tg_run_model *runs;
    struct tg_action_points *points;
    struct tg_controlled_process *processes; /* live ones, by pid */
    uint64_t version;                        /* of what a view says: how often that has changed */
    struct tg_job_view *view;                /* of VIEW_VERSION, NULL: none was asked for yet */
    uint64_t view_version;
};

/* NULL: there is none. PROCESS may be NULL. */
struct tg_controlled_process *tg_controlled_process_find(const struct tg_controller *controller, int32_t pid);
struct tg_controlled_thread *tg_controlled_thread_find(const struct tg_controlled_process *process,
                                                       int32_t tid);

/* Whether action point ID is to stop THREAD of PROCESS, which may have it from its parent alone. */
bool tg_controller_concerns(const struct tg_controller *controller,
                            const struct tg_controlled_process *process, uint32_t id,
                            struct tg_thread_id thread);
/* THREAD_ID arrives at barrier ID. MORE: it arrives at another barrier next. */
struct tg_error *tg_controller_arrive(struct tg_controller *controller, uint32_t id,
                                      struct tg_thread_id thread_id, bool more);

/* Records EVENT, which is about ID; pid and tid are filled in, 0 where the thread or process is gone. */
void tg_decisions_record(struct tg_controller *controller, struct tg_thread_id id, struct tg_event *event);
/* Carries out what the run model has decided last, unless ERROR, the model's answer, says that it failed:
 * that is returned. */
struct tg_error *tg_decisions_carry_out(struct tg_controller *controller, struct tg_error *error);

#endif
