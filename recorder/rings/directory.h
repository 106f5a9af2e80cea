/* The private directory in which the agents of one recording put their rings (recorder/agent/contract.h). */
#ifndef TG_RECORDER_RINGS_DIRECTORY_H
#define TG_RECORDER_RINGS_DIRECTORY_H

#include "format/base/error.h"
#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct tg_agent_directory;

struct tg_agent_directory_options {
    uint32_t flags; /* enum tg_agent_flag */
    struct tg_agent_heap heap;
    uint32_t clock;      /* enum tg_agent_clock */
    uint64_t ring_bytes; /* a power of two in [TG_AGENT_RING_MIN_BYTES, TG_AGENT_RING_MAX_BYTES]; 0: 1 MiB, or
                            less where the file system is small */
    const char *trace;   /* the trace that is written: as long as its .incomplete is there and names the
                            directory, nobody removes what a killed recorder left */
};

/* Makes DIRECTORY with its control file, locked for as long as it lives; in /dev/shm, or where that is no
 * memory file system that can be written to in $XDG_RUNTIME_DIR, $TMPDIR or /tmp. What dead recorders left is
 * removed first (tg_agent_directory_clean) where the place is more than half full; the drain does it anyway when the job runs. Errors:
 * OS, USAGE (an impossible ring size). */
struct tg_error *tg_agent_directory_create(const struct tg_agent_directory_options *options,
                                           struct tg_agent_directory **directory);

/* Opens one that a killed recorder left behind, and takes its lock. Errors: NOT_FOUND, INPUT (not a directory
 * of this user's alone, or not whole), UNSUPPORTED (of another protocol), EXISTS (its recorder lives). */
struct tg_error *tg_agent_directory_open(const char *path, struct tg_agent_directory **directory);

/* Says to agents that nobody looks any more, lets go of the directory and leaves it where it is. NULL is
 * accepted. */
void tg_agent_directory_close(struct tg_agent_directory *directory);

/* The same, and removes it with everything in it. NULL is accepted. */
void tg_agent_directory_destroy(struct tg_agent_directory *directory);

/* Absolute; what TG_AGENT_VARIABLE has to say. Valid as long as DIRECTORY. */
const char *tg_agent_directory_path(const struct tg_agent_directory *directory);

/* Open on the directory as long as it lives. */
int tg_agent_directory_fd(const struct tg_agent_directory *directory);

/* By how much the rings in it may grow, all together: at most 160 MiB, a quarter of what its file system has left, and an
 * eighth of the memory that is; 0 where it is not in memory. */
uint64_t tg_agent_directory_growth_bytes(const struct tg_agent_directory *directory);

/* A copy of the control page as it is now: everything that agents could write to may be nonsense. */
struct tg_agent_control tg_agent_directory_control(const struct tg_agent_directory *directory);

/* Parts of the control file; false with errno. */
bool tg_agent_directory_read(const struct tg_agent_directory *directory, uint64_t offset, void *bytes,
                             size_t size);
bool tg_agent_directory_write(const struct tg_agent_directory *directory, uint64_t offset, const void *bytes,
                              size_t size);
/* Makes SIZE bytes at OFFSET, which are 0 before, memory for certain: programs that touch what there is no memory for end by
 * SIGBUS. At the beginning that is so of everything but the gates and their slots. */
bool tg_agent_directory_reserve(const struct tg_agent_directory *directory, uint64_t offset, uint64_t size);
/* Wakes everybody who sleeps on the word at OFFSET (FUTEX_WAKE). */
void tg_agent_directory_wake(const struct tg_agent_directory *directory, uint64_t offset);

#define TG_AGENT_DIRECTORY_NO_LIMIT UINT64_MAX

/* Sleeps until an agent asks for attention (its count differs from SEEN, control.attention as read before),
 * as it does when it makes a ring or has not much room left, or until TIMEOUT_NS have passed. */
void tg_agent_directory_wait(const struct tg_agent_directory *directory, uint32_t seen, uint64_t timeout_ns);

/* Ends the wait of another thread. */
void tg_agent_directory_call(const struct tg_agent_directory *directory);

/* How often agents have said that a worker waits at a gate (control.gate_calls). */
uint32_t tg_agent_directory_gate_calls(const struct tg_agent_directory *directory);
/* Sleeps until that is not SEEN, and ends the sleep of another thread. */
void tg_agent_directory_wait_gates(const struct tg_agent_directory *directory, uint32_t seen);
void tg_agent_directory_call_gates(const struct tg_agent_directory *directory);

/* Removes the directories of this user whose recorder is dead and that no interrupted trace needs; where the
 * recorder saw other files than this process does (another container), a week later. OWN is this process's, if it has made
 * one, else NULL. Best effort. */
void tg_agent_directory_clean(const struct tg_agent_directory *own);

#endif
