/* The calling thread and its process, mostly without a system call, which takes as long as the rest of a record. */
#ifndef TG_RECORDER_AGENT_AUDIT_CALLER_H
#define TG_RECORDER_AGENT_AUDIT_CALLER_H

#include <stdint.h>

struct tg_audit_caller {
    int32_t pid, tid;
};

struct tg_audit_caller tg_audit_caller_now(void);

/* The same without a system call: where the process has not been asked for since it was forked it is TG_AUDIT_PROCESS_UNKNOWN, and
 * the thread's id is what glibc says. */
enum { TG_AUDIT_PROCESS_UNKNOWN = -1 };
struct tg_audit_caller tg_audit_caller_known(void);

#endif
