/* Locks of the library's tables: taken by a thread of this process, not of the one that it was forked from; one that
 * holds it already does not get it again (a signal handler), unless what held it was left by siglongjmp. */
#ifndef TG_RECORDER_AGENT_HEAP_LOCK_H
#define TG_RECORDER_AGENT_HEAP_LOCK_H

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/process.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct tg_heap_lock {
    uint64_t holder;   /* __atomic; thread pointer and generation, 0 free */
    const void *frame; /* of the holder's function; NULL: not known yet */
};

/* Whether the function of the calling thread that holds LOCK will ever go on: a handler that interrupted it has its frame
 * below, or is on a stack of its own. */
static inline bool tg_heap_lock_holder_goes_on(const struct tg_heap_lock *lock, const void *frame)
{
    stack_t stack;
    if (!tg_agent.no_calls && tg_raw_call(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) == 0 &&
        (stack.ss_flags & SS_ONSTACK) != 0)
        return true;
    return lock->frame == NULL || (uintptr_t)frame < (uintptr_t)lock->frame;
}

/* False: the calling thread has it already. */
static inline bool tg_heap_lock_take(struct tg_heap_lock *lock)
{
    uint64_t own = ((uint64_t)(uintptr_t)__builtin_thread_pointer() & TG_AGENT_CODE_MASK) |
                   ((*tg_agent.generation & 0xffff) << 48);
    const void *frame = __builtin_frame_address(0);
    for (;;) {
        uint64_t holder = __atomic_load_n(&lock->holder, __ATOMIC_RELAXED);
        if (holder == own) {
            if (tg_heap_lock_holder_goes_on(lock, frame))
                return false;
            lock->frame = frame;
            return true;
        }
        bool is_free = holder == 0 || holder >> 48 != own >> 48;
        if (is_free && __atomic_compare_exchange_n(&lock->holder, &holder, own, false, __ATOMIC_ACQUIRE,
                                                   __ATOMIC_RELAXED)) {
            lock->frame = frame;
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
