/* System calls that a tracer must not interrupt. */
#ifndef TG_RECORDER_PROCESS_INTERRUPTED_CALL_H
#define TG_RECORDER_PROCESS_INTERRUPTED_CALL_H

#include <stdbool.h>
#include <sys/user.h>

/* A few system calls return EINTR to the program whenever a signal is pending, where natively nothing would
 * have interrupted them: the kernel wakes a traced thread for signals that are ignored, and for
 * PTRACE_INTERRUPT. Turns such an EINTR in REGS, of a thread in its stop, into the kernel's "restart unless a
 * handler runs"; false where it is none. Only where the call waits without limit: one with a time limit would begin
 * to wait anew. Whoever stops a thread writes it back at once: a tracer that is killed lets the thread go on with what
 * its registers say then. */
bool tg_interrupted_call_restart(struct user_regs_struct *regs);

#endif
