/* The calling thread and its process, mostly without a system call, which takes as long as the rest of a record. */
#ifndef TG_RECORDER_AGENT_AUDIT_CALLER_H
#define TG_RECORDER_AGENT_AUDIT_CALLER_H

#include <stdbool.h>
#include <stdint.h>

struct tg_audit_caller {
    int32_t pid, tid;
};

struct tg_audit_caller tg_audit_caller_now(void);

/* Whether it is known without a system call. */
bool tg_audit_caller_is_known(void);

#endif
