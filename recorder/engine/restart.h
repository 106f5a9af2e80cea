/* System calls that a tracer must not interrupt. */
#ifndef TG_RECORDER_ENGINE_RESTART_H
#define TG_RECORDER_ENGINE_RESTART_H

#include "recorder/engine/tracee.h"

/* Has the call that TRACEE was woken from begin again, where natively nothing would have interrupted it
 * (recorder/process/interrupted_call.h). */
void tg_restart_wait(struct tg_tracee *tracee);

/* The same where the stop of TRACEE, which an interrupt of ours has brought, is yet to be handled. */
void tg_restart_wait_of_paused(const struct tg_tracee *tracee);

#endif
