/* A new program image: auxiliary vector, entry stop, exec event. */
#ifndef TG_RECORDER_ENGINE_PROGRAM_H
#define TG_RECORDER_ENGINE_PROGRAM_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

/* A new image is in place: reads what the kernel told it and tells observers. Plants the entry breakpoint,
 * unless ATTACHED. */
void tg_program_loaded(struct tg_tracee *tracee, bool attached);
/* Emits the exec event of the stop in progress, and a note where the program lost its privilege. */
void tg_program_emit_exec(struct tg_tracee *tracee, pid_t former_tid);

#endif
