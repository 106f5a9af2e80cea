/* Calls that other threads have posted to the tracer thread. */
#ifndef TG_RECORDER_ENGINE_POSTED_H
#define TG_RECORDER_ENGINE_POSTED_H

#include "recorder/engine/engine_internal.h"

/* Makes the calls that were posted so far. */
void tg_posted_run(struct tg_engine *engine);
void tg_posted_drop(struct tg_engine *engine);

#endif
