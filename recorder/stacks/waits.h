/* What stopped threads wait for in the kernel. */
#ifndef TG_RECORDER_LOOK_WAITS_H
#define TG_RECORDER_LOOK_WAITS_H

#include "format/event/event.h"
#include "format/image/elf_object.h"
#include "recorder/look/halt.h"

/* One thread's. */
struct tg_wait {
    pid_t pid, tid;
    struct tg_event_thread_wait is; /* its partners: none yet */
    uint64_t inode;                 /* of the pipe or socket, 0 none */
    pid_t child;                    /* that is waited for, 0 none */
};

/* Whether THREAD was in a system call that waits, when it was stopped. */
bool tg_wait_is_asleep(const struct tg_halted_thread *thread);

/* Whether it was, or had just been, in one that reads or writes memory of another process. */
bool tg_wait_is_copying(const struct tg_halted_thread *thread);

/* Whether thread INDEX of HALT, of process PID with MEMORY, waits for something of these kinds; while it is stopped. IS_THERE:
 * it still runs, and its open files can be asked about. */
bool tg_wait_find(pid_t pid, const struct tg_elf_memory *memory, bool is_there, const struct tg_halt *halt,
                  size_t index, struct tg_wait *wait);

/* Those of COUNT processes that have the other end of what WAIT is for, at most MAX; returns how many. To be asked
 * while the job runs. */
size_t tg_wait_partners(const struct tg_wait *wait, const pid_t *pids, size_t count,
                        struct tg_wait_partner *partners, size_t max);

#endif
