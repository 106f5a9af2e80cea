/*
 * The private directory in which the agents of one recording put their rings (recorder/agent/contract.h).
 */
#ifndef TG_RECORDER_AGENT_DIRECTORY_H
#define TG_RECORDER_AGENT_DIRECTORY_H

#include "format/error.h"
#include "recorder/agent/contract.h"

#include <stdint.h>

struct tg_agent_directory;

struct tg_agent_directory_options {
    uint32_t flags;      /* enum tg_agent_flag */
    uint32_t clock;      /* enum tg_agent_clock */
    uint64_t ring_bytes; /* a power of two in [TG_AGENT_RING_MIN_BYTES, TG_AGENT_RING_MAX_BYTES]; 0: 1 MiB */
    const char *trace;   /* the trace that is written; salvage looks there for the rest of the recording */
};

/*
 * Makes DIRECTORY with its control file, locked for as long as it lives; in /dev/shm, or where that is no
 * memory file system that can be written to in $XDG_RUNTIME_DIR, $TMPDIR or /tmp. Directories that recorders
 * of this user left behind, and that no interrupted trace needs any more, are removed by the way. Errors: OS.
 */
struct tg_error *tg_agent_directory_create(const struct tg_agent_directory_options *options,
                                           struct tg_agent_directory **directory);

/* Opens one that a killed recorder left behind, and takes its lock. Errors: INPUT (no such directory of this
 * user, or not whole), UNSUPPORTED (of another protocol), EXISTS (its recorder lives). */
struct tg_error *tg_agent_directory_open(const char *path, struct tg_agent_directory **directory);

/* Says to agents that nobody looks any more, wakes those that wait, closes the directory and leaves it where
 * it is. NULL is accepted. */
void tg_agent_directory_close(struct tg_agent_directory *directory);

/* The same, and removes everything in it and it. NULL is accepted. */
void tg_agent_directory_destroy(struct tg_agent_directory *directory);

/* Absolute; what TG_AGENT_VARIABLE has to say. */
const char *tg_agent_directory_path(const struct tg_agent_directory *directory);

/* Open on the directory as long as it lives. */
int tg_agent_directory_fd(const struct tg_agent_directory *directory);

/* The shared page: agents can write to it. */
struct tg_agent_control *tg_agent_directory_control(const struct tg_agent_directory *directory);

/* Removes what dead recorders of this user left and nothing needs. Best effort. */
void tg_agent_directory_clean(void);

#endif
