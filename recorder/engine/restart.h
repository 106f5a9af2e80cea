/* System calls that a tracer must not interrupt. */
#ifndef TG_RECORDER_ENGINE_RESTART_H
#define TG_RECORDER_ENGINE_RESTART_H

#include "recorder/engine/tracee.h"

/* Has the call that TRACEE was woken from begin again, where natively nothing would have interrupted it
 * (recorder/process/interrupted_call.h). */
void tg_restart_wait(struct tg_tracee *tracee);

#endif
