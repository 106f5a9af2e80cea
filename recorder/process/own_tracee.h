/* A child that the recorder makes to trace it, to find out what the machine does. */
#ifndef TG_RECORDER_PROCESS_OWN_TRACEE_H
#define TG_RECORDER_PROCESS_OWN_TRACEE_H

#include <stdbool.h>
#include <sys/types.h>

/* In the child, first: PARENT, which forked it, traces it from now on, and it ends with PARENT. False: it is to exit, for it
 * cannot be traced, or PARENT has died already. (Traced by whoever inherited it, it would stay stopped for ever.) */
bool tg_own_tracee_begin(pid_t parent);

#endif
