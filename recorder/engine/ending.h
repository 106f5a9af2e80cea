/* Deaths of threads and processes. */
#ifndef TG_RECORDER_ENGINE_ENDING_H
#define TG_RECORDER_ENGINE_ENDING_H

#include "recorder/engine/tracee.h"

/* TRACEE is in PTRACE_EVENT_EXIT; it is resumed. */
void tg_ending_exiting(struct tg_tracee *tracee);
/* waitpid reported the end of TRACEE. */
void tg_ending_ended(struct tg_tracee *tracee, int status);

#endif
