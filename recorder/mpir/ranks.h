/* The ranks that starters' tables name: each is looked for, taken where it is on this host and is what the
 * table says, let through its gate, and reported by an mpir_rank event. */
#ifndef TG_RECORDER_MPIR_RANKS_H
#define TG_RECORDER_MPIR_RANKS_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/mpir/process.h"
#include "recorder/mpir/wanted_ranks.h"

#include <stdbool.h>

struct tg_mpir_ranks;

struct tg_mpir_ranks_options {
    size_t slot;                          /* slot of the observer whose data are struct tg_mpir_process */
    const struct tg_wanted_ranks *wanted; /* others are detached, or not taken */
    bool trust;                           /* take a process whatever it runs and whose it is */
    bool is_foreign; /* the job runs whatever becomes of the recorder, although its starter was launched */
};

/* ENGINE, and what OPTIONS points to, must outlive it. */
struct tg_error *tg_mpir_ranks_create(struct tg_engine *engine, const struct tg_mpir_ranks_options *options,
                                      struct tg_mpir_ranks **ranks);
void tg_mpir_ranks_destroy(struct tg_mpir_ranks *ranks); /* NULL is accepted */

/* ENTRY of the table of STARTER, a stopped thread's process, which has SIZE of them. A rank that was taken before is not told
 * of again. */
void tg_mpir_ranks_take(struct tg_mpir_ranks *ranks, struct tg_thread *starter,
                        const struct tg_mpir_entry *entry, int64_t size);

/* THREAD's process has been looked at (again): if it is a rank, its gate can be set now where there is
 * one. */
void tg_mpir_ranks_settle(struct tg_mpir_ranks *ranks, struct tg_thread *thread);

/* The program of THREAD's process is in place, and nothing of it has run: if it is a rank that was left
 * stopped, it may go on as soon as its starter lets it, and is settled at its entry point. */
void tg_mpir_ranks_begin(struct tg_mpir_ranks *ranks, const struct tg_thread *thread);

/* Ranks that their starter left stopped for the tool (Slurm's) go on when it has returned from
 * MPIR_Breakpoint: there it asks for them, and complains of those that have ended by then. Whether there are
 * such ranks of STARTER; and: it has returned, or will not. */
bool tg_mpir_ranks_wait(const struct tg_mpir_ranks *ranks, pid_t starter);
void tg_mpir_ranks_wake(struct tg_mpir_ranks *ranks, pid_t starter);

/* THREAD's process is about to be detached, or to end: the gate of a rank that has certainly passed it
 * becomes what it was. */
void tg_mpir_ranks_leave(struct tg_mpir_ranks *ranks, struct tg_thread *thread, enum tg_stop_trigger trigger);

/* Process PID, which was traced, is no more; or a new one has that number. */
void tg_mpir_ranks_ended(struct tg_mpir_ranks *ranks, pid_t pid);
void tg_mpir_ranks_began(struct tg_mpir_ranks *ranks, pid_t pid);

/* Tells of ranks of STARTER's that ended before they could be stopped. */
void tg_mpir_ranks_tell_lost(struct tg_mpir_ranks *ranks, struct tg_thread *starter);

/* Whether PID is a rank of some table. */
bool tg_mpir_ranks_has(const struct tg_mpir_ranks *ranks, pid_t pid);

#endif
