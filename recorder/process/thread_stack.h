/* The stack of a thread that a fault has stopped. */
#ifndef TG_RECORDER_PROCESS_THREAD_STACK_H
#define TG_RECORDER_PROCESS_THREAD_STACK_H

#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* Size in bytes of the stack of TID, a thread of PID, where it has overflowed: the thread, which is stopped by a SIGSEGV
 * and has REGISTERS, has its stack pointer below its stack, or right above its end, and the address FAULT is there. Of the
 * first thread it is the limit that was reached. 0: it has not, or that is not known, as where a program has stacks of
 * its own. */
uint64_t tg_thread_stack_overflowed(pid_t pid, pid_t tid, const struct user_regs_struct *registers,
                                    uint64_t fault);

#endif
