/* One recording: a trace file, an engine with its observers, and what flows from the one to the other. */
#ifndef TG_RECORDER_RECORD_RECORDING_H
#define TG_RECORDER_RECORD_RECORDING_H

#include "format/base/error.h"
#include "format/settings/command.h"
#include "recorder/engine/engine.h"
#include "recorder/loader/loader.h"
#include "recorder/process/image_cache.h"
#include "recorder/record/options.h"
#include "recorder/record/recording_file.h"
#include "recorder/record/recording_watch.h"
#include "recorder/rings/directory.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_recording;

/* Makes everything ready: the trace file is created, nothing is traced yet. COST is what stops cost on this
 * machine (all zero: not known). WATCH is NULL where nobody watches; it takes ptrace. What is given must
 * outlive the recording. One thread, all that follows as well. */
struct tg_error *tg_recording_create(const struct tg_record_options *options, const struct tg_stop_cost *cost,
                                     const struct tg_recording_watch *watch, struct tg_recording **recording);

/* Parts of the recording for its controller, owned by the recording: observers are added before the start. */
struct tg_recording_parts {
    struct tg_engine *engine;
    struct tg_image_cache *images;
    struct tg_loader *loader;
    size_t n_breaks;                        /* breakpoints of the options: their ids are 1 to this */
    const struct tg_agent_directory *rings; /* NULL: there are no agents */
    uint64_t start_ns;                      /* moments are relative to it, as in the trace */
};
struct tg_recording_parts tg_recording_parts(const struct tg_recording *recording);

/* Starts the command (*PID is its process) or attaches (*PID is 0). TARGET errors name the command or
 * process. */
struct tg_error *tg_recording_start(struct tg_recording *recording, pid_t *pid);

/* Until nothing is left to trace, or tg_recording_request_stop. *STATUS is the command's wait status. An
 * error of the trace file does not end the recording: the options' `say` is told at once. */
struct tg_error *tg_recording_run(struct tg_recording *recording, int *status);

/* Async-signal-safe: detach everything and return from tg_recording_run. */
void tg_recording_request_stop(struct tg_recording *recording);

/* Somebody asked the recorder to end: a launcher that is stuck when its ranks have ended is killed soon. Async-signal-safe. */
void tg_recording_asked_to_end(struct tg_recording *recording);

/* SIGNAL, which this process is about to send to the job, comes from SENDER (0: not known here), a program NAME ("" not
 * known): the trace says so. From any thread. */
void tg_recording_passes_on(struct tg_recording *recording, int signal, pid_t sender, const char *name);

/* Takes the stacks of all threads of the job, which become events. On the tracer thread. Errors: UNSUPPORTED, this
 * recording takes none. */
struct tg_error *tg_recording_look(struct tg_recording *recording);

/* For who reads the file while it is written. Asks that events that were added go to the file soon; returns
 * how many it has then, or more. On the thread that runs the recording, also when the trace is closed. */
uint64_t tg_recording_flush(struct tg_recording *recording);
/* Whether the file has the first N_EVENTS, as far as they were kept; asks again where it has not. */
bool tg_recording_is_flushed(struct tg_recording *recording, uint64_t n_events);

/* Closes the trace; to be called once after a start that went well. Says an error of the file that was not
 * said yet. */
void tg_recording_finish(struct tg_recording *recording, struct tg_recording_summary *summary);

/* Without finish the trace file is removed again. NULL is accepted. */
void tg_recording_destroy(struct tg_recording *recording);

#endif
