/* Whether a process is the one that a starter's table means: a table may name anybody's. */
#ifndef TG_RECORDER_MPIR_TARGET_H
#define TG_RECORDER_MPIR_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_mpir_target {
    pid_t starter;
    uint64_t rank;
    const char *host; /* as the table has it */
    const char *executable;
    pid_t pid;
};

/* Says in REASON what speaks against TARGET, and returns false: it has ended, belongs to another user than
 * the starter, or runs something else than the table says. A program may have become another one since it was
 * started (a script that executes it); so a process whose environment says that it is this very rank is
 * believed, too. TRUST: whoever asked takes the risk; only what exists counts. */
bool tg_mpir_target_is_meant(const struct tg_mpir_target *target, bool trust, char *reason, size_t size);

/* Whether the process with TARGET's pid on this host is the rank, although the host has a name that is not
 * known here: its environment says so (Slurm's node names), and it is in the same UTS namespace. */
bool tg_mpir_target_is_here(const struct tg_mpir_target *target);

#endif
