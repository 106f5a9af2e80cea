/* The stop in progress: its time, and the events that are emitted in it. */
#ifndef TG_RECORDER_ENGINE_STOP_H
#define TG_RECORDER_ENGINE_STOP_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

void tg_stop_begin(struct tg_engine *engine, struct tg_tracee *tracee);
/* Hands the events of the stop to the sink. */
void tg_stop_end(struct tg_engine *engine);

/* Whether TID is still in the stop that STATUS told. SIGKILL and the exec of another thread end any stop: the
 * thread may be gone since, and its id that of the thread that executes a program, stopped for that. To handle the
 * old stop then would resume the new one, which nobody would ever see; Linux before 5.13 lets that happen. */
bool tg_stop_is_current(pid_t tid, int status);

/* Emits a note about TRACEE. */
void tg_stop_note(struct tg_tracee *tracee, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
