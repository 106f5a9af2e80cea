/* Locks of the library's tables: taken by a thread of this process, not of the one that it was forked from; one that
 * holds it already does not get it again (a signal handler), unless what held it was left by siglongjmp. */
#ifndef TG_RECORDER_AGENT_HEAP_LOCK_H
#define TG_RECORDER_AGENT_HEAP_LOCK_H

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/process.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct tg_heap_lock {
    uint64_t holder;   /* __atomic; thread pointer and generation, 0 free */
    const void *frame; /* of the holder's function; NULL: not known yet */
    uint64_t caller;   /* the return address in that frame */
};

/* Whether the function of the calling thread that holds LOCK may go on: it was interrupted by a signal, whose handler may have
 * changed to any other stack. It never will where its frame was left (siglongjmp), which is sure once something else is there. */
static inline bool tg_heap_lock_holder_goes_on(const struct tg_heap_lock *lock, const void *frame)
{
    uint64_t caller = lock->caller;
    if (lock->frame == frame)
        return false;
    if (lock->frame == NULL || tg_agent.no_calls)
        return true;
    const struct iovec here = {&caller, sizeof caller};
    const struct iovec there = {(char *)(uintptr_t)lock->frame + sizeof caller, sizeof caller};
    long read = tg_raw_call(SYS_process_vm_readv, tg_raw_process_id(), (long)&here, 1, (long)&there, 1, 0);
    return read == -EFAULT ? false : caller == lock->caller;
}

/* FRAME's function has LOCK, which is the calling thread's. */
static inline void tg_heap_lock_claim(struct tg_heap_lock *lock, const void *frame)
{
    lock->frame = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock->caller = ((const uint64_t *)frame)[1];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock->frame = frame;
}

/* False: the calling thread has it already. Always inline: the frame is that of the function that has the lock. */
static inline __attribute__((always_inline)) bool tg_heap_lock_take(struct tg_heap_lock *lock)
{
    uint64_t own = ((uint64_t)(uintptr_t)__builtin_thread_pointer() & TG_AGENT_CODE_MASK) |
                   ((*tg_agent.generation & 0xffff) << 48);
    const void *frame = __builtin_frame_address(0);
    for (;;) {
        uint64_t holder = __atomic_load_n(&lock->holder, __ATOMIC_RELAXED);
        if (holder == own) {
            if (tg_heap_lock_holder_goes_on(lock, frame))
                return false;
            tg_heap_lock_claim(lock, frame);
            return true;
        }
        bool is_free = holder == 0 || holder >> 48 != own >> 48;
        if (is_free && __atomic_compare_exchange_n(&lock->holder, &holder, own, false, __ATOMIC_ACQUIRE,
                                                   __ATOMIC_RELAXED)) {
            tg_heap_lock_claim(lock, frame);
            return true;
        }
        if (!tg_agent.no_calls && !is_free)
            (void)tg_raw_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    }
}

static inline void tg_heap_lock_release(struct tg_heap_lock *lock)
{
    lock->frame = NULL;
    __atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
}

#endif
