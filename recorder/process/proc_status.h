/* The contents of /proc/PID/status. */
#ifndef TG_RECORDER_PROCESS_PROC_STATUS_H
#define TG_RECORDER_PROCESS_PROC_STATUS_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_proc_status {
    char name[64]; /* as the kernel escapes it, cut off; untrusted */
    char state;    /* R S D T t Z X ... */
    pid_t tgid;
    pid_t parent; /* the real one, not a tracer; 0: outside of this pid namespace */
    pid_t tracer; /* 0 none */
    uid_t uid;
    uid_t file_uid;      /* opens files as this user */
    pid_t own_pid;       /* tg_proc_status_own_pid; 0 not known */
    bool has_memory;     /* kernel threads and processes that ended have none */
    int seccomp_filters; /* tg_proc_status_seccomp_filters */
};

/* Why nothing can be known of processes: there is no /proc, or it is that of another pid namespace; NULL: it is this one's. */
struct tg_error *tg_proc_status_check(void);

/* Reads the status of thread or process TID; false where there is no such thing. */
bool tg_proc_status_read(pid_t tid, struct tg_proc_status *status);

/* The process runs no more, whether its parent or tracer has taken note or not. */
bool tg_proc_status_is_dead(const struct tg_proc_status *status);

/* The process id that PID itself sees: another number in a pid namespace of its own. PID where
 * that cannot be read. */
pid_t tg_proc_status_own_pid(pid_t pid);

/* Whether PID was forked and has executed no program since, so that its memory is a copy of its parent's; also where that is not
 * known. */
bool tg_proc_status_is_copy(pid_t pid);

/* The signals that thread TID ignores, and those that have handlers, bit N - 1 for signal N. False where that
 * cannot be read. */
bool tg_proc_status_signals(pid_t tid, uint64_t *ignored, uint64_t *caught);

/* The signals that thread TID has blocked, and those that were sent to it and have not come yet. Likewise. */
bool tg_proc_status_waiting_signals(pid_t tid, uint64_t *blocked, uint64_t *pending);

/* The time for which thread TID has had a processor, in nanoseconds; 0 where the kernel does not say. */
uint64_t tg_proc_status_run_time(pid_t tid);
/* The same of its waits for a processor, while it could have run. */
uint64_t tg_proc_status_wait_time(pid_t tid);

/* Whether PID has the capability CAP_SYS_PTRACE. */
bool tg_proc_status_may_trace(pid_t pid);

/* How many seccomp filters PID is under, all of those that it inherited included; -1 where that cannot be
 * known (before Linux 5.9). */
int tg_proc_status_seccomp_filters(pid_t pid);

#endif
