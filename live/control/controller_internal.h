/* What the files of the controller share. */
#ifndef TG_LIVE_CONTROL_CONTROLLER_INTERNAL_H
#define TG_LIVE_CONTROL_CONTROLLER_INTERNAL_H

#include "live/control/controller.h"

#include <uthash.h>

struct tg_controlled_thread {
    int32_t tid;
    struct tg_thread_id id;
    enum tg_job_state state; /* why it stands, where it does */
    uint64_t pc;
    bool is_kind_known; /* whether it is a manager */
    UT_hash_handle hh;
};

struct tg_controlled_process {
    int32_t pid;
    struct tg_process_groups groups;
    bool is_killed;
    struct tg_controlled_thread *threads; /* by tid */
    UT_hash_handle hh;
};

struct tg_controller {
    const struct tg_controller_engine *operations;
    void *engine;
    struct tg_job_model *job;
    struct tg_run_model *barriers;
    struct tg_action_points *points;
    struct tg_controlled_process *processes; /* by pid; those that live */
};

/* Records EVENT, which is about UNIT; pid and tid are filled in, 0 where the unit is gone. */
struct tg_error *tg_controller_record(struct tg_controller *controller, struct tg_thread_id unit,
                                      struct tg_event *event);
/* Carries out what the barrier model has decided last, unless ERROR, which it returns then, says that it
 * failed. */
struct tg_error *tg_controller_carry_out(struct tg_controller *controller, struct tg_error *error);

/* Whether POINT is of PROCESS: of its share group, or its own. */
bool tg_controller_is_meant_for(const struct tg_action_point *point,
                                const struct tg_controlled_process *process);
/* Plants action point ID in PROCESS, where it is enabled and meant for it. IS_NEW: it is no news that its
 * place is found. */
struct tg_error *tg_controller_plant(struct tg_controller *controller,
                                     const struct tg_controlled_process *process, uint32_t id, bool is_new);

#endif
