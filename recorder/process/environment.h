/* The part of a process's environment that a trace may hold: ranks and job ids of the MPI runtimes and batch
 * systems, OMP_*, GOMP_*, KMP_*, LD_* (docs/trace-format.md). Nothing else leaves the process. */
#ifndef TG_RECORDER_PROCESS_ENVIRONMENT_H
#define TG_RECORDER_PROCESS_ENVIRONMENT_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    TG_ENVIRONMENT_MAX_BYTES =
        16 << 20, /* part of /proc/PID/environ that is read; the kernel's own limit is 6 MiB */
    TG_ENVIRONMENT_MAX_VALUE_BYTES = 1 << 16, /* longest variable kept; longer ones are counted */
};

/* Caller's storage; zero-initialised it is empty. */
struct tg_environment {
    struct tg_string_item *variables; /* NAME=VALUE, in the order of the process; into BYTES */
    size_t count;
    size_t left_out; /* allowed, but too long */
    char *bytes;
};

/* From the text of /proc/PID/environ: NUL-terminated strings, the last one perhaps without its NUL. False
 * without memory. */
bool tg_environment_parse(const char *text, size_t size, struct tg_environment *environment);

/* The environment that PID was started with. False where it cannot be read, with errno. */
bool tg_environment_read(pid_t pid, struct tg_environment *environment);

void tg_environment_deinit(struct tg_environment *environment);

/* The value of NAME, NULL where it is not set (or not allowed). */
const char *tg_environment_get(const struct tg_environment *environment, const char *name);

#endif
