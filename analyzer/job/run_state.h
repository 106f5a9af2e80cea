/* The state of the run model: which threads run, which are held, and the barriers. For the files of
 * the model alone, and for analyzer/job/barrier_trace.c, which compares it with a trace. */
#ifndef TG_ANALYZER_JOB_RUN_STATE_H
#define TG_ANALYZER_JOB_RUN_STATE_H

#include "analyzer/job/run_types.h"
#include "format/base/error.h"

/* Threads and processes have slots, which are used again; a barrier has flags for each slot. */

struct tg_run_thread {
    bool alive, is_manager;
    bool held_by_user;
    uint32_t process; /* slot */
    uint32_t dtid;
    uint32_t n_holds; /* barriers that hold it */
    enum tg_run_state run;
    uint64_t stopping_since; /* the model's step in which it was told to stop */
};

struct tg_run_process {
    bool alive;
    bool held_by_user;
    bool is_ending; /* no barrier waits for it or counts it */
    struct tg_process_groups info;
    uint32_t n_holds;
    uint32_t *threads; /* slots by ascending dtid */
    size_t n_threads, capacity;
    size_t n_running;
};

enum { /* of a slot, to a barrier */
       TG_BARRIER_FLAG_MEMBER = 1,
       TG_BARRIER_FLAG_ARRIVED = 2,
       TG_BARRIER_FLAG_HOLDS = 4,
};

struct tg_barrier {
    struct tg_barrier_definition definition; /* the list in it is the barrier's own, sorted */
    bool enabled, stuck, can_be_satisfied;
    uint8_t *flags; /* of thread slots, or process slots */
    size_t n_flags;
    uint64_t n_members, n_arrived, n_lost;
    uint64_t round;
    uint64_t satisfied_at; /* the model's step, 0 never */
};

struct tg_run_model {
    struct tg_run_thread *threads;
    size_t n_threads, threads_capacity;
    uint32_t *free_threads; /* slots; there is always room for every slot */
    size_t n_free_threads, free_threads_capacity;
    struct tg_run_process *processes;
    size_t n_processes, processes_capacity;
    uint32_t *free_processes; /* likewise */
    size_t n_free_processes, free_processes_capacity;
    uint32_t *by_dpid; /* slots of living processes */
    size_t n_by_dpid, by_dpid_capacity;
    struct tg_barrier **barriers; /* by ascending id */
    size_t n_barriers, barriers_capacity;
    size_t n_places; /* flags of all barriers */
    uint64_t step;
    bool is_over; /* the session ends */
    struct tg_run_decision *decisions;
    size_t n_decisions, decisions_capacity;
    bool failed; /* memory was short: decisions are missing */
};

enum { TG_NO_SLOT = UINT32_MAX };

/* Begins a change: no decisions yet. */
void tg_run_begin(struct tg_run_model *model);
/* Ends it: NO_MEMORY where it failed. */
struct tg_error *tg_run_end(struct tg_run_model *model);
void tg_run_decide(struct tg_run_model *model, struct tg_run_decision decision);

/* Slots; TG_NO_SLOT: there is none. */
uint32_t tg_run_find_process(const struct tg_run_model *model, uint32_t dpid);
uint32_t tg_run_find_thread(const struct tg_run_model *model, struct tg_thread_id thread);
/* The index in by_dpid, or in PROCESS's threads, of the first whose number is not less. */
size_t tg_run_place_of_process(const struct tg_run_model *model, uint32_t dpid);
size_t tg_run_place_of_thread(const struct tg_run_model *model, const struct tg_run_process *process,
                              uint32_t dtid);
/* A slot of either, by THREAD's dtid. */
uint32_t tg_run_find(const struct tg_run_model *model, struct tg_thread_id thread);
struct tg_thread_id tg_run_thread_id(const struct tg_run_model *model, uint32_t slot);
struct tg_error *tg_run_not_found(struct tg_thread_id thread);

/* NULL: there is none. */
struct tg_barrier *tg_barrier_find(const struct tg_run_model *model, uint32_t id);
/* The index of the first barrier whose id is not less than ID. */
size_t tg_barrier_place(const struct tg_run_model *model, uint32_t id);
/* The thread, or process, that is SLOT to BARRIER. */
struct tg_thread_id tg_barrier_member_id(const struct tg_run_model *model, const struct tg_barrier *barrier,
                                         uint32_t slot);

bool tg_run_is_held(const struct tg_run_model *model, uint32_t slot);
void tg_run_set_state(struct tg_run_model *model, uint32_t slot, enum tg_run_state run);

/* Decides to stop, where anything runs. */
void tg_run_stop_thread(struct tg_run_model *model, uint32_t slot);
void tg_run_stop_process(struct tg_run_model *model, uint32_t slot);
void tg_run_stop_group(struct tg_run_model *model, uint32_t control_group);

#endif
