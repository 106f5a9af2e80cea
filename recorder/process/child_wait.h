/* Threads that wait in the kernel for a child process to end. */
#ifndef TG_RECORDER_PROCESS_CHILD_WAIT_H
#define TG_RECORDER_PROCESS_CHILD_WAIT_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether thread TID waits in wait4() or waitid() now: it need not be stopped. *CHILD: the process that it waits
 * for, by the number that it knows that one by; 0: any of several. False also where the kernel does not say. */
bool tg_child_wait_find(pid_t tid, pid_t *child);

/* Hands out the children of process PID that the kernel lists, ended ones that it has not waited for with them, until TAKE says
 * false. False: it did, or the kernel does not tell them. */
bool tg_child_wait_each_child(pid_t pid, bool (*take)(void *context, pid_t child), void *context);

#endif
