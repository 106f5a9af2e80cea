/* What a running thread waits for in the kernel: a futex, and where that is a mutex of glibc's, who owns it. */
#ifndef TG_RECORDER_PROCESS_FUTEX_H
#define TG_RECORDER_PROCESS_FUTEX_H

#include "format/image/elf_object.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_futex_wait {
    uint64_t address;
    pid_t owner; /* thread id, 0: it is no mutex, or none whose owner is written there */
};

/* A call of futex(2): its first three arguments. */
struct tg_futex_call {
    uint64_t address, operation, value;
};

/* The thread whose mutex of glibc's is waited for by CALL, in the MEMORY of its process; 0 where that does not look like a mutex
 * in that state. Whether there is such a thread is the caller's to ask. */
pid_t tg_futex_owner(const struct tg_elf_memory *memory, const struct tg_futex_call *call);

/* Whether thread TID of process PID waits at a futex now: it need not be stopped. False also where the kernel does
 * not say. */
bool tg_futex_find_wait(pid_t pid, pid_t tid, struct tg_futex_wait *wait);

#endif
