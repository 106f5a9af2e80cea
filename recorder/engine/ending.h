/* Deaths of threads and processes. */
#ifndef TG_RECORDER_ENGINE_ENDING_H
#define TG_RECORDER_ENGINE_ENDING_H

#include "recorder/engine/tracee.h"

/* TRACEE is in PTRACE_EVENT_EXIT; it is resumed. */
void tg_ending_exiting(struct tg_tracee *tracee);
/* waitpid reported the end of TRACEE. */
void tg_ending_ended(struct tg_tracee *tracee, int status);
/* waitpid reported the end of the launched process, for another tracer of which way was made (launched_is_apart). */
void tg_ending_apart_ended(struct tg_engine *engine, int status);

#endif
