/* One recording: a trace file, an engine with its observers, and what flows from the one to the other. */
#ifndef TG_RECORDER_RECORDING_H
#define TG_RECORDER_RECORDING_H

#include "format/command.h"
#include "format/error.h"
#include "recorder/record_options.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_recording;

struct tg_recording_summary {
    uint64_t events;
    uint64_t processes;
    uint64_t written_bytes;
    uint64_t lost_events; /* as far as they were counted */
    uint64_t losses;      /* loss events in the trace */
    bool finished;        /* tg_recording_finish filled this in */
    bool complete;        /* the trace was closed; otherwise PATH.incomplete is what there is */
};

/*
 * Makes everything ready: the trace file is created, nothing is traced yet. COST is what stops cost on this
 * machine (all zero: not known). OPTIONS must outlive the recording.
 */
struct tg_error *tg_recording_create(const struct tg_record_options *options, const struct tg_stop_cost *cost,
                                     struct tg_recording **recording);

/* Starts the command (*PID is its process) or attaches (*PID is 0). TARGET errors name the command or
 * process. */
struct tg_error *tg_recording_start(struct tg_recording *recording, pid_t *pid);

/* Until nothing is left to trace, or tg_recording_request_stop. *STATUS is the command's wait status. An
 * error of the trace file does not end it: it is printed once, at once. */
struct tg_error *tg_recording_run(struct tg_recording *recording, int *status);

/* Async-signal-safe: detach everything and return from tg_recording_run. */
void tg_recording_request_stop(struct tg_recording *recording);

/* Closes the trace; to be called once after a start that went well. Prints an error of the file that was not
 * printed yet. */
void tg_recording_finish(struct tg_recording *recording, struct tg_recording_summary *summary);

/* Without finish the trace file is removed again. NULL is accepted. */
void tg_recording_destroy(struct tg_recording *recording);

#endif
