/* System calls in which threads are blocked. */
#ifndef TG_RECORDER_PROCESS_CURRENT_CALL_H
#define TG_RECORDER_PROCESS_CURRENT_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_current_call {
    long number;
    uint64_t arguments[3]; /* the first ones */
};

/* Reads it from /proc/TID/syscall. False: TID runs, is in no call, or may not be looked at. */
bool tg_current_call_read(pid_t tid, struct tg_current_call *call);

#endif
