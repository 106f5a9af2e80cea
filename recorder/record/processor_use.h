/* How long the tracer's thread ran, and waited for a processor. */
#ifndef TG_RECORDER_RECORD_PROCESSOR_USE_H
#define TG_RECORDER_RECORD_PROCESSOR_USE_H

#include "recorder/engine/engine.h"

#include <stdbool.h>

/* Of the calling thread, up to now; false where the kernel does not say. */
bool tg_processor_use_read(struct tg_event_tracer_wait *use);

/* Emits an event with what was added since BEFORE was read by the same thread. */
void tg_processor_use_tell(struct tg_engine *engine, const struct tg_event_tracer_wait *before);

#endif
