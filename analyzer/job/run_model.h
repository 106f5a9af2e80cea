/* The barrier model: who runs, who is held and by whom, and the debugger's barriers over processes or
 * threads. What happens and what is asked for goes in, what is to be done comes out: it controls nothing
 * itself. A live session feeds it from its engine, a trace from its events, and both get the same decisions.
 *
 * A thread is held where it or its process is held: by somebody (dhold), or by barriers. What is held does
 * not run: it is stopped when it is held, and go leaves it out. A barrier holds each member that arrives
 * until all members that live have arrived: then it is satisfied, lets go of all, and begins anew. Nobody
 * runs on by that. */
#ifndef TG_ANALYZER_JOB_RUN_MODEL_H
#define TG_ANALYZER_JOB_RUN_MODEL_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread by its numbers; dtid 0: the process. */
struct tg_thread_id {
    uint32_t dpid, dtid;
};

/* Members are the threads, or processes, of the share group that are also in GROUP, in PROCESS and in LIST,
 * as far as these are given. Who joins or leaves the groups joins or leaves the barrier. */
struct tg_barrier_definition {
    uint32_t id; /* from 1 */
    bool of_threads;
    enum tg_barrier_stop stop_when_hit, stop_when_done;
    uint32_t share_group;
    uint32_t group;   /* number of a control, share or workers group; 0: any */
    uint32_t process; /* dpid; 0: any */
    const struct tg_thread_id *list;
    size_t n_list; /* 0: anybody */
};

enum tg_run_decision_kind {
    TG_DECIDE_STOP_THREAD, /* whom to stop; UNIT */
    TG_DECIDE_STOP_PROCESS,
    TG_DECIDE_STOP_GROUP,    /* NUMBER: the control group */
    TG_DECIDE_RESUME_THREAD, /* lets it run, at once or when a stop that is under way has come */
    TG_DECIDE_ARRIVED,
    TG_DECIDE_LATE,      /* it stands at a barrier that its process has arrived at before, in a round that is
                             over: it is stopped, no more */
    TG_DECIDE_HELD,      /* BARRIER 0: by somebody */
    TG_DECIDE_SATISFIED, /* COUNT: members; NUMBER: how many left before without having arrived */
    TG_DECIDE_RELEASED,  /* from BARRIER, 0: from somebody's hold; REASON. It may be held otherwise still */
    TG_DECIDE_LEFT,      /* a member left a barrier that others wait at; REASON; COUNT 1: it had arrived */
    TG_DECIDE_STUCK,     /* can be satisfied no more: UNIT, and COUNT members with it, cannot arrive because
                             barrier NUMBER holds it, which in turn waits for one like it */
};

struct tg_run_decision {
    enum tg_run_decision_kind kind;
    uint32_t barrier;
    struct tg_thread_id thread;
    enum tg_barrier_reason reason;
    uint32_t number;
    uint64_t count;
};

enum tg_run_state {
    TG_RUN_RUNNING,
    TG_RUN_STOPPING, /* told to stop; it may still come to a barrier that it was at */
    TG_RUN_STOPPED,
};

struct tg_process_groups {
    uint32_t dpid; /* from 1 */
    uint32_t control_group, share_group, workers_group;
};

enum {
    TG_BARRIERS_MAX = 4096,           /* at a time */
    TG_BARRIERS_MAX_PLACES = 1 << 28, /* of members in all barriers together: beyond it NO_MEMORY */
};

struct tg_run_model;

struct tg_error *tg_run_model_create(struct tg_run_model **model);
void tg_run_model_destroy(struct tg_run_model *model); /* NULL is accepted */
struct tg_error *tg_run_model_copy(const struct tg_run_model *model, struct tg_run_model **copy);

/* What follows changes the model; its decisions, in the order in which they are to be done, can be had until
 * the next change. Errors: NO_MEMORY, after which the model is of no use; where it is said NOT_FOUND and
 * EXISTS, which change nothing. */
const struct tg_run_decision *tg_run_model_decisions(const struct tg_run_model *model, size_t *count);

/* ---- the job. EXISTS: the number is taken; NOT_FOUND: there is no such process or thread. */

struct tg_error *tg_run_model_add_process(struct tg_run_model *model,
                                          const struct tg_process_groups *process);
/* Its groups changed: it executed another program. Threads that are gone by it are removed one by one. */
struct tg_error *tg_run_model_change_process(struct tg_run_model *model,
                                             const struct tg_process_groups *process);
/* With all of its threads; REASON: exit or detach. */
struct tg_error *tg_run_model_remove_process(struct tg_run_model *model, uint32_t dpid,
                                             enum tg_barrier_reason reason);
/* It runs; where its process is held, or all of it is told to stop, it is told to stop. */
struct tg_error *tg_run_model_add_thread(struct tg_run_model *model, struct tg_thread_id thread,
                                         bool is_manager);
/* It is a manager, or is none, as was found out after it was added. */
struct tg_error *tg_run_model_set_manager(struct tg_run_model *model, struct tg_thread_id thread,
                                          bool is_manager);
struct tg_error *tg_run_model_remove_thread(struct tg_run_model *model, struct tg_thread_id thread,
                                            enum tg_barrier_reason reason);
/* It stands still: a stop that was asked for, a breakpoint, a signal. */
struct tg_error *tg_run_model_stopped(struct tg_run_model *model, struct tg_thread_id thread);

/* ---- commands */

/* The thread, or all threads of the process, that are not held: RESUME_THREAD for each that does not run. */
struct tg_error *tg_run_model_go(struct tg_run_model *model, struct tg_thread_id unit);
/* Stops without holding. */
struct tg_error *tg_run_model_halt(struct tg_run_model *model, struct tg_thread_id unit);
/* A thread's hold and its process's are two things. What runs is told to stop first. */
struct tg_error *tg_run_model_hold(struct tg_run_model *model, struct tg_thread_id unit);
/* Takes away every hold of the thread, or of the process, also those of barriers: it has arrived there all
 * the same. */
struct tg_error *tg_run_model_unhold(struct tg_run_model *model, struct tg_thread_id unit);

/* ---- barriers. EXISTS: the id is taken; NOT_FOUND: there is none of that id; LIMIT: there are too many. */

struct tg_error *tg_barriers_add(struct tg_run_model *model, const struct tg_barrier_definition *definition);
/* Lets go of all that it holds. */
struct tg_error *tg_barriers_delete(struct tg_run_model *model, uint32_t id);
/* A disabled barrier lets go of all, and of everybody who comes; an enabled one begins anew. */
struct tg_error *tg_barriers_enable(struct tg_run_model *model, uint32_t id, bool enabled);
/* THREAD stopped at barrier ID. Who is no member, or comes to one that is disabled or deleted, goes on at
 * once where it ran. */
struct tg_error *tg_barriers_arrive(struct tg_run_model *model, uint32_t id, struct tg_thread_id thread);
/* The same where THREAD, which is a member, is at another barrier of the same place as well, at which it
 * arrives next: it counts as one that is stopping, and may be anywhere, until tg_barriers_arrive tells
 * of the last one. */
struct tg_error *tg_barriers_arrive_on(struct tg_run_model *model, uint32_t id, struct tg_thread_id thread);

/* ---- questions */

bool tg_run_model_has_thread(const struct tg_run_model *model, struct tg_thread_id thread);
/* Of a thread that there is. */
enum tg_run_state tg_run_model_state(const struct tg_run_model *model, struct tg_thread_id thread);
/* Whether the hold of the thread itself, or with dtid 0 of the process, is on; false where there is none. */
bool tg_run_model_holds(const struct tg_run_model *model, struct tg_thread_id unit);
/* Whether the thread can run: neither itself nor its process is held. */
bool tg_run_model_is_held(const struct tg_run_model *model, struct tg_thread_id thread);

struct tg_barrier_status {
    bool of_threads, enabled;
    bool stuck;
    uint64_t n_members, n_arrived; /* living ones */
    uint64_t round;                /* how often it was satisfied */
};

/* False: there is no such barrier. */
bool tg_barriers_status(const struct tg_run_model *model, uint32_t id, struct tg_barrier_status *status);

/* Barrier I in [0, count), by ascending id; its list is sorted, and lives until the next change. */
size_t tg_barriers_count(const struct tg_run_model *model);
const struct tg_barrier_definition *tg_barriers_at(const struct tg_run_model *model, size_t i);

/* The STUCK decision as it would be taken now. False: ID can be satisfied, or nobody waits there. */
bool tg_barriers_why_stuck(const struct tg_run_model *model, uint32_t id, struct tg_run_decision *why);

/* What a unit is to a barrier. */
struct tg_barrier_membership {
    bool is_member, has_arrived, is_held; /* held by this barrier */
};

/* Of a thread, or with dtid 0 of a process; nothing is true where there is no such barrier or unit. */
struct tg_barrier_membership tg_barriers_membership(const struct tg_run_model *model, uint32_t id,
                                                    struct tg_thread_id unit);

/* "stop_thread", "held", ...; "satisfied", "deleted", ... */
const char *tg_run_decision_name(enum tg_run_decision_kind kind);
const char *tg_barrier_reason_name(enum tg_barrier_reason reason);

#endif
