/* A job at one moment as commands see it: processes and threads with the numbers that people give them, their
 * groups and states. A trace, an engine or a test fills it; whoever asks does not know which. */
#ifndef TG_ANALYZER_JOB_VIEW_H
#define TG_ANALYZER_JOB_VIEW_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_job_state {
    TG_JOB_NONEXISTENT, /* not begun yet, or ended */
    TG_JOB_RUNNING,
    TG_JOB_KERNEL,     /* inside the kernel where it cannot be stopped now; counts as running */
    TG_JOB_STOPPED,    /* by a command, or with others */
    TG_JOB_BREAKPOINT, /* stopped because it came to a breakpoint or barrier */
    TG_JOB_WATCHPOINT,
    TG_JOB_ERROR, /* stopped by a signal that it would not survive */
};

enum tg_job_group_kind {
    TG_JOB_GROUP_CONTROL, /* a program with what it forked and executed */
    TG_JOB_GROUP_SHARE,   /* members of a control group that run the same executable */
    TG_JOB_GROUP_WORKERS, /* threads of a control group that are no managers */
    TG_JOB_GROUP_USER,    /* named by somebody; of processes, threads, or both */
};

struct tg_job_thread {
    uint32_t dtid; /* from 1 in its process */
    enum tg_job_state state;
    bool is_manager; /* no worker: a thread that a library has for itself */
    bool held;       /* itself; its process's hold is the process's */
    uint64_t pc;     /* 0: not known, or it runs */
    uint64_t tag;    /* the filler's own */
};

/* A process as it is added. */
struct tg_job_process_info {
    uint32_t dpid;          /* from 1 */
    int64_t rank;           /* in MPI_COMM_WORLD, -1: none */
    uint32_t control_group; /* numbers of its groups; 0: in none */
    uint32_t share_group;
    uint32_t workers_group; /* of its control group's workers */
    bool exists;            /* false: not begun yet, or ended */
    bool held;
    uint64_t tag; /* the filler's own */
};

struct tg_job_process {
    struct tg_job_process_info info;
    size_t first_thread; /* index of its first thread */
    size_t n_threads;
    size_t first_slot; /* threads' place in struct tg_job_set; one slot of its own where it has none */
};

struct tg_job_view;

struct tg_error *tg_job_view_create(struct tg_job_view **view);
void tg_job_view_destroy(struct tg_job_view *view); /* NULL is accepted */

/* Filling: processes by ascending dpid, behind each its threads by ascending dtid, then user groups. Numbers
 * of 0, or not ascending, are the caller's bugs. NAME is copied. Only errors: NO_MEMORY; EXISTS for a group
 * whose number or name another one has. */
struct tg_error *tg_job_view_add_process(struct tg_job_view *view, const struct tg_job_process_info *info);
struct tg_error *tg_job_view_add_thread(struct tg_job_view *view, const struct tg_job_thread *thread);
struct tg_error *tg_job_view_add_group(struct tg_job_view *view, uint32_t number, const char *name);
/* To the group added last. DTID 0: all threads of the process. Nobody is added who does not exist. */
struct tg_error *tg_job_view_add_member(struct tg_job_view *view, uint32_t dpid, uint32_t dtid);

/* Tags that mean something to who asks, in place of the filler's: of a process its new one, of a thread by
 * its process's old one and its own. */
struct tg_job_view_tags {
    void *context;
    uint64_t (*of_process)(void *context, uint64_t tag);
    uint64_t (*of_thread)(void *context, uint64_t process_tag, uint64_t tag);
};
void tg_job_view_retag(struct tg_job_view *view, const struct tg_job_view_tags *tags);

/* For I in [0, count), by ascending dpid. Pointers live until the view is filled further. */
size_t tg_job_view_count(const struct tg_job_view *view);
const struct tg_job_process *tg_job_view_at(const struct tg_job_view *view, size_t i);
/* Thread I in [0, PROCESS->n_threads), by ascending dtid. */
const struct tg_job_thread *tg_job_view_thread(const struct tg_job_view *view,
                                               const struct tg_job_process *process, size_t i);

/* How many slots a set over this view has: one a thread, and one for each process without threads. */
size_t tg_job_view_slots(const struct tg_job_view *view);

/* NULL: there is none. */
const struct tg_job_process *tg_job_view_process(const struct tg_job_view *view, uint32_t dpid);
/* Of several processes with RANK the one with the lowest dpid, of those that exist where one does. */
const struct tg_job_process *tg_job_view_rank(const struct tg_job_view *view, int64_t rank);
/* Index of the thread, SIZE_MAX: there is none. */
size_t tg_job_view_find_thread(const struct tg_job_view *view, const struct tg_job_process *process,
                               uint32_t dtid);
/* The index of its lowest-numbered worker, SIZE_MAX: there is none. */
size_t tg_job_view_lowest_worker(const struct tg_job_view *view, const struct tg_job_process *process);

/* A group that a number or a name stands for. */
struct tg_job_group {
    enum tg_job_group_kind kind;
    uint32_t number;
    const char *name; /* of a user group, NULL of others */
    size_t user;      /* index among the user groups */
};

/* False: there is none. */
bool tg_job_view_group(const struct tg_job_view *view, uint32_t number, struct tg_job_group *group);
bool tg_job_view_named_group(const struct tg_job_view *view, const char *name, struct tg_job_group *group);

/* Whether thread I of PROCESS is in GROUP; of a process without threads: I is 0, whether the process is. */
bool tg_job_view_is_member(const struct tg_job_view *view, const struct tg_job_group *group,
                           const struct tg_job_process *process, size_t i);

static inline bool tg_job_state_is_stopped(enum tg_job_state state)
{
    return state >= TG_JOB_STOPPED;
}

/* Whether the code at A_PC in process A is that at B_PC in another process B: objects lie elsewhere in
 * each. */
typedef bool tg_job_view_same_code(void *context, const struct tg_job_process *a, uint64_t a_pc,
                                   const struct tg_job_process *b, uint64_t b_pc);

/* SAME_CODE knows; without it equal addresses are the same code. */
void tg_job_view_tell_code(struct tg_job_view *view, tg_job_view_same_code *same_code, void *context);
bool tg_job_view_is_same_code(const struct tg_job_view *view, const struct tg_job_process *a, uint64_t a_pc,
                              const struct tg_job_process *b, uint64_t b_pc);

#endif
