/* Threads, processes and debugger barriers as the run model knows them, and what it decides. */
#ifndef TG_ANALYZER_JOB_RUN_TYPES_H
#define TG_ANALYZER_JOB_RUN_TYPES_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread by its numbers; dtid 0: the whole process. */
struct tg_thread_id {
    uint32_t dpid, dtid;
};

struct tg_process_groups {
    uint32_t dpid; /* from 1 */
    uint32_t control_group, share_group, workers_group;
};

enum tg_run_state {
    TG_RUN_RUNNING,
    TG_RUN_STOPPING, /* told to stop; the thread may still arrive at a barrier on its way */
    TG_RUN_STOPPED,
};

/* A barrier's members are the threads, or processes, of the share group that are also in GROUP, in PROCESS
 * and in LIST, as far as these are given. Threads and processes that join or leave the groups join or
 * leave the barrier. */
struct tg_barrier_definition {
    uint32_t id; /* from 1 */
    bool of_threads;
    enum tg_barrier_stop stop_when_hit, stop_when_done;
    uint32_t share_group;
    uint32_t group;   /* number of a control, share or workers group; 0: any */
    uint32_t process; /* dpid; 0: any */
    const struct tg_thread_id *list;
    size_t n_list; /* 0: no list */
};

enum tg_run_decision_kind {
    TG_DECIDE_STOP_THREAD, /* stop THREAD */
    TG_DECIDE_STOP_PROCESS,
    TG_DECIDE_STOP_GROUP,    /* NUMBER: the control group */
    TG_DECIDE_RESUME_THREAD, /* at once, or as soon as a stop that is under way has come */
    TG_DECIDE_ARRIVED,
    TG_DECIDE_LATE, /* THREAD is at a barrier that its process arrived at in a round that is over: it stays
                            stopped, and that is all */
    TG_DECIDE_HELD, /* BARRIER 0: by a command */
    TG_DECIDE_SATISFIED, /* COUNT: members; NUMBER: how many left before without having arrived */
    TG_DECIDE_RELEASED,  /* from BARRIER, 0: from a command's hold; REASON. Another hold may remain */
    TG_DECIDE_LEFT,      /* a member left a barrier that others wait at; REASON; COUNT 1: it had arrived */
    TG_DECIDE_STUCK, /* BARRIER can no longer be satisfied: THREAD, and COUNT members with it, cannot arrive
                             because barrier NUMBER holds them, which in turn waits for others like them */
};

struct tg_run_decision {
    enum tg_run_decision_kind kind;
    uint32_t barrier;
    struct tg_thread_id thread;
    enum tg_barrier_reason reason;
    uint32_t number;
    uint64_t count;
};

/* "stop_thread", "held", ...; "satisfied", "deleted", ... */
const char *tg_run_decision_name(enum tg_run_decision_kind kind);
const char *tg_barrier_reason_name(enum tg_barrier_reason reason);

#endif
