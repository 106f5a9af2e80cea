/* Waking tg_engine_run: waitpid cannot wait for a request too, and a signal that comes between the check of a
 * flag and the call would be missed. So a request arms a timer that repeats until the loop has seen the
 * request; the timer's signal interrupts the tracer thread's waitpid. */
#ifndef TG_RECORDER_ENGINE_WAKE_H
#define TG_RECORDER_ENGINE_WAKE_H

#include "recorder/engine/engine_internal.h"

/* Creates the timers and takes the wake signal; OS errors. After an error tg_wake_deinit gives back the part
 * that was set up. */
struct tg_error *tg_wake_init(struct tg_engine *engine);
void tg_wake_deinit(struct tg_engine *engine);

/* Starts or stops the timer that interrupts tg_engine_run's wait every few milliseconds. */
void tg_wake_set_ticking(struct tg_engine *engine, bool ticking);

/* Has the requests of other threads served (tg_engine_wake). */
void tg_wake_serve(struct tg_engine *engine);

/* Finds who asked for SIGNAL, which came from this process, as tg_engine_passes_on said; false where nobody did. */
bool tg_wake_find_asker(struct tg_engine *engine, int signal, struct tg_passed_on *asker);

/* Makes tg_engine_run detach everything and return ERROR. Takes ERROR. */
void tg_engine_fail(struct tg_engine *engine, struct tg_error *error);

#endif
