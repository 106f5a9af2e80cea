/* Stops of threads that were looked at while another stop, or none, was in progress: their handling is put
 * off until that one is over (tg_threads_pause in engine.h). */
#ifndef TG_RECORDER_ENGINE_PAUSE_H
#define TG_RECORDER_ENGINE_PAUSE_H

#include "recorder/engine/engine_internal.h"

/* The next stop that waits for its handling, which is the caller's from now on. False: there is none. */
bool tg_pause_take(struct tg_engine *engine, pid_t *tid, int *status);

#endif
