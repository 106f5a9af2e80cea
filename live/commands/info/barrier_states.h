/* The barriers of a live job, or of a session's trace, at one moment: for commands that tell of them. */
#ifndef TG_LIVE_COMMANDS_INFO_BARRIER_STATES_H
#define TG_LIVE_COMMANDS_INFO_BARRIER_STATES_H

#include "analyzer/job/run_model.h"
#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "live/console/command.h"

#include <stddef.h>
#include <stdint.h>

struct tg_barrier_states {
    struct tg_run_model *model; /* a copy */
    struct tg_job_view *view;   /* of the same moment */
    char **locations;           /* of its barriers, in their order, as they were asked for */
    size_t n_locations;
};

/* STATES is initialised by the call, and the caller's to deinit, also where it fails. */
struct tg_error *tg_barrier_states_take(struct tg_console *console, struct tg_barrier_states *states);
void tg_barrier_states_deinit(struct tg_barrier_states *states);

/* How far a member of a barrier is with it. */
enum tg_barrier_standing {
    TG_STANDS_ARRIVED,   /* and is held there */
    TG_STANDS_LET_GO,    /* arrived, and its hold was released */
    TG_STANDS_RUNNING,   /* not arrived */
    TG_STANDS_STOPPED,   /* not arrived; it runs when it is let run */
    TG_STANDS_HELD,      /* not arrived, held by somebody's command */
    TG_STANDS_ELSEWHERE, /* not arrived, held at another barrier */
    TG_STANDS_COUNT,
};

struct tg_barrier_member {
    struct tg_thread_id thread;
    enum tg_barrier_standing standing;
    uint32_t barrier; /* barrier that holds it, of TG_STANDS_ELSEWHERE, else 0 */
};

/* The members of barrier ID, by ascending unit; *MEMBERS is the caller's to free. Only error: NO_MEMORY. */
struct tg_error *tg_barrier_states_members(const struct tg_barrier_states *states, uint32_t id,
                                           struct tg_barrier_member **members, size_t *count);

/* Adds UNIT, of a process all threads, to SET, which is over the states' view. */
void tg_barrier_states_add(const struct tg_barrier_states *states, struct tg_thread_id unit,
                           struct tg_job_set *set);

#endif
