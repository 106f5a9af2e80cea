/* System calls that a tracer must not interrupt. */
#ifndef TG_RECORDER_ENGINE_RESTART_H
#define TG_RECORDER_ENGINE_RESTART_H

#include "recorder/engine/tracee.h"

/* A few system calls return EINTR to the program whenever a signal is pending, where natively nothing would
 * have interrupted them: the kernel wakes a traced thread for signals that are ignored, and for
 * PTRACE_INTERRUPT. Turns such an EINTR into the kernel's "restart unless a handler runs". Only where the
 * call waits without limit: one with a time limit would begin to wait anew. */
void tg_restart_wait(struct tg_tracee *tracee);

#endif
