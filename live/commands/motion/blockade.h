/* Blockades: nobody who runs can come to the gates of a run any more, because all wait for a thread that is stopped, or
 * for each other. */
#ifndef TG_LIVE_COMMANDS_MOTION_BLOCKADE_H
#define TG_LIVE_COMMANDS_MOTION_BLOCKADE_H

#include "live/commands/motion/gate_run.h"

/* What a look leaves for the next one; all zero before the first. */
struct tg_blockade_watch {
    uint64_t last_ns, n_calls;       /* of all in focus: their last event, and their calls of MPI */
    uint64_t awaited_ns, n_awaiting; /* the same of those that may come to a gate */
    size_t n_looks;         /* one after another at which nothing had happened since the one before */
    size_t n_awaited_looks; /* the same of those that may come */
    bool has_told;          /* some of them cannot: that was noted */
    uint32_t dpid;          /* a process that waits for itself, or for others; 0 none */
};

/* Looks, some quarter of a second after the last time, whether anybody can come to RUN, of which the first is waited for.
 * Nobody can: the run is over, and *BLOCKED is an error that says why, the caller's. So it is where it is for each process,
 * and those that nobody of has come wait: *IS_OVER. Where some cannot and others may, that is noted once. */
struct tg_error *tg_blockade_look(struct tg_console *console, struct tg_gate_run *run,
                                  struct tg_blockade_watch *watch, struct tg_error **blocked, bool *is_over);

/* The same of a run that all its workers are waited for: whether those who have not come wait in MPI, directly or for one who
 * does, while other ranks are stopped: *IS_SO. */
struct tg_error *tg_blockade_is_outside(struct tg_console *console, const struct tg_gate_run *run,
                                        struct tg_blockade_watch *watch, bool *is_so);

/* Whether the deadlock is still there that RUN ended for, now that all are stopped and all records have been taken. */
struct tg_error *tg_blockade_holds(struct tg_console *console, const struct tg_gate_run *run, bool *holds);

#endif
