/* Detaching a process so that nothing of the engine stays in it. */
#ifndef TG_RECORDER_ENGINE_DETACH_H
#define TG_RECORDER_ENGINE_DETACH_H

#include "recorder/engine/engine_internal.h"

/* Starts to detach PROCESS; the detach ends in later stops. REASON is static. */
void tg_detach_begin(struct tg_process *process, const char *reason);
/* After any change: detaches the processes that are to be and whose threads are all quiet. */
void tg_detach_advance(struct tg_engine *engine);

#endif
