/* Members of a barrier: from the focus of dbarrier to a definition for the run model. */
#ifndef TG_LIVE_SETS_BARRIER_FOCUS_H
#define TG_LIVE_SETS_BARRIER_FOCUS_H

#include "analyzer/job/run_model.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "live/sets/ptset.h"

/* Initialise to zero, free with deinit. */
struct tg_barrier_focus {
    bool of_threads; /* a thread barrier: the group of the focus is one of threads (workers, lockstep), or its
                        width is a thread */
    bool shared;     /* to be planted in all of the share group, else in PROCESS only */
    uint32_t share_group;      /* the only one that it spans */
    uint32_t group;            /* members are of this group, 0 any */
    uint32_t process;          /* and of this process (dpid), 0 any */
    struct tg_thread_id *list; /* and of these; NULL any */
    size_t n_list;
    char *satisfaction; /* as dactions shows it: "group 2", "process 2", or a set */
};

void tg_barrier_focus_deinit(struct tg_barrier_focus *barrier);

/* FOCUS is complete; its default width is the group, its default group the control group. One arena's groups
 * are followed as they change; what is a list, an expression, a thread or lockstep is who is meant now. USAGE
 * error with position for an inconsistent focus: process groups and thread groups together, processes of
 * several share groups in a list, nobody. NOT_FOUND errors as tg_ptset_members. */
struct tg_error *tg_barrier_focus_make(const struct tg_ptset *focus, const struct tg_job_view *view,
                                       struct tg_barrier_focus *barrier, size_t *position);

/* The definition for the model. Points into BARRIER. */
struct tg_barrier_definition tg_barrier_focus_definition(const struct tg_barrier_focus *barrier, uint32_t id,
                                                         enum tg_barrier_stop stop_when_hit,
                                                         enum tg_barrier_stop stop_when_done);

#endif
