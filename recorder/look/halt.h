/* A process that stands still for a moment. Where tollgate dies meanwhile the kernel lets it go on. */
#ifndef TG_RECORDER_LOOK_HALT_H
#define TG_RECORDER_LOOK_HALT_H

#include "format/base/error.h"
#include "recorder/stacks/waits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_halt {
    pid_t pid;
    size_t max_threads;
    struct tg_halted_thread *threads;
    size_t count, capacity;
    size_t next; /* thread that is asked next whether it has stopped */
    unsigned n_scans, n_polls;
    uint64_t start_ns; /* CLOCK_MONOTONIC; the last moment of which is known that none of them had stopped */
    size_t n_refused;  /* threads that nobody may stop, as somebody else traces them */
    pid_t refused;     /* the first of them */
};

/* Asks the threads of process PID to stop, which they do when they next have a processor; at most MAX_THREADS of them, and
 * the others run on. Several processes may be asked at once. TARGET error: why nobody may, and what to do, without a name;
 * HALT is empty then. */
struct tg_error *tg_halt_begin(pid_t pid, size_t max_threads, struct tg_halt *halt);

/* The same of the one thread TID of process PID; the others run on. */
struct tg_error *tg_halt_begin_thread(pid_t pid, pid_t tid, struct tg_halt *halt);

/* Whether all of them have stopped, those too that they made meanwhile. */
bool tg_halt_poll(struct tg_halt *halt);

/* Lets all of them go on as if nothing had been. Returns for how long the process stood still at most: threads that are
 * asked run, or wait for a processor as they would have anyway, until they stop. A thread that could not be stopped is let
 * go as soon as it stops, by a handler of SIGCHLD, at the latest when tollgate ends. */
uint64_t tg_halt_end(struct tg_halt *halt);

#endif
