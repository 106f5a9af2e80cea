/* Waiting for the next stop of a traced thread. */
#ifndef TG_RECORDER_ENGINE_STOP_WAIT_H
#define TG_RECORDER_ENGINE_STOP_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* When stops follow each other within microseconds, as they do while a program loads libraries, putting the
 * tracer to sleep and waking it again, often on another processor, costs more than the whole handling of a
 * stop. So after a run of short waits the tracer looks for the next stop a few times before it sleeps, and
 * gives its processor away between the looks. It stops doing so as soon as somebody else uses that processor.
 * On a machine, or in a part of one, with a single processor it always sleeps. */
struct tg_stop_wait {
    enum { TG_PROCESSORS_UNKNOWN, TG_PROCESSORS_ONE, TG_PROCESSORS_MANY } processors; /* the tracer's */
    unsigned short_waits; /* how many of the last waits were short, saturating */
    unsigned sleeps_due;  /* waits to sleep in, because the processor is wanted by others */
    const atomic_bool
        *wanted; /* by other threads: no wait begins, nor goes on looking, where it is true; NULL: never */
};

/* waitpid for PID (-1: any) among the N_THREADS threads that the calling thread traces, and its children.
 * Returns what waitpid returns, with errno; -1 and EINTR where a signal came while it slept, and
 * where the wait is WANTED elsewhere: its signal may have come while nobody slept. */
pid_t tg_stop_wait(struct tg_stop_wait *wait, pid_t pid, size_t n_threads, int *status);

#endif
