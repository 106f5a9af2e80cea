/* Deadlocks of a running job: those who can go on no more, whatever others do, threads and ranks that wait for each other
 * in a ring, and all that wait for one of them. */
#ifndef TG_LIVE_COMMANDS_MOTION_DEADLOCK_H
#define TG_LIVE_COMMANDS_MOTION_DEADLOCK_H

#include "analyzer/verdict/verdict.h"
#include "live/commands/info/place.h"

struct tg_deadlock {
    const struct tg_console *console;
    struct tg_verdict verdict;
    size_t n_workers,
        n_nodes;    /* OpenMP workers, by index; behind them the ranks, by index of their process */
    bool *is_stuck; /* by node */
};

/* Caller's storage, to be deinited also where it fails; by what the console's models know. Only error: NO_MEMORY. */
struct tg_error *tg_deadlock_find(const struct tg_console *console, struct tg_deadlock *deadlock);
void tg_deadlock_deinit(struct tg_deadlock *deadlock);
#define TG_AUTO_DEADLOCK __attribute__((cleanup(tg_deadlock_deinit)))

/* Whether thread TID of PROCESS is stuck, in OpenMP or in a call of MPI. */
bool tg_deadlock_has(const struct tg_deadlock *deadlock, size_t process, int32_t tid);

/* How many threads and ranks are stuck. */
size_t tg_deadlock_count(const struct tg_deadlock *deadlock);

/* What is said of the deadlock that PROCESS is part of, or that it waits for; of ranks that are in different collectives; and
 * of a wait within PROCESS that is no deadlock. Each NULL: nothing. Live as long as DEADLOCK. */
const char *tg_deadlock_text(const struct tg_deadlock *deadlock, size_t process);
const char *tg_deadlock_mismatch(const struct tg_deadlock *deadlock);
const char *tg_deadlock_wait(const struct tg_deadlock *deadlock, size_t process);

/* Whether WORKER waits for others, by what it did last. */
bool tg_deadlock_waits_for_others(const struct tg_openmp_worker *worker);

#endif
