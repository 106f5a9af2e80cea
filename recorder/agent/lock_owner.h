/* The last thread that entered a lock. A thread that enters and finds itself there knows that nobody was in
 * the lock since it left, so that it did not wait: it enters when it arrives, and one look at the clock says
 * both.
 *
 * A table of one word for each lock that hashes there: the lock and a thread. A word is written for a lock
 * only by threads that are in that lock, by each that enters it and finds another thread there; so what says
 * (lock, this thread) was written by this thread when it was in there, and nobody has entered since. Locks
 * that share a word overwrite each other, which only makes them look like ones that were somebody else's.
 * Where threads take turns nobody is put down, but for one in 64: a word that changes hands each time would
 * be a cache line more that travels along with the lock.
 *
 * This holds where every way into the lock is seen. Whoever enters a lock also leaves it: who does not says
 * so.
 *
 * All of it is async-signal-safe. */
#ifndef TG_RECORDER_AGENT_LOCK_OWNER_H
#define TG_RECORDER_AGENT_LOCK_OWNER_H

#include "recorder/agent/record.h"

enum {
    TG_LOCK_OWNER_SLOTS = 512, /* a power of two */
    TG_LOCK_OWNER_SHIFT = 48,
};
#define TG_LOCK_OWNER_NOBODY (UINT64_C(0xffff) << TG_LOCK_OWNER_SHIFT)

/* __atomic: bits 0-47 lock, 48-63 thread; 0: never used */
extern uint64_t tg_lock_owners[TG_LOCK_OWNER_SLOTS];

struct tg_lock_owner_thread {
    uint64_t id; /* << TG_LOCK_OWNER_SHIFT; 0: none yet, or there are none left */
    uint32_t dice;
};
extern __thread struct tg_lock_owner_thread tg_lock_owner_thread __attribute__((tls_model("initial-exec")));

static inline uint64_t *tg_lock_owner_slot(uintptr_t lock)
{
    return &tg_lock_owners[lock * UINT64_C(0x9e3779b97f4a7c15) >> 55];
}
_Static_assert(TG_LOCK_OWNER_SLOTS == 1 << (64 - 55), "the hash has as many bits");

bool tg_lock_owner_enter_slowly(uintptr_t lock, bool stays);

/* The calling thread is in LOCK, from 1 on and below 2^48. Whether the last one to be there was it too.
 * STAYS: the same thread will leave it. */
static inline __attribute__((always_inline)) bool tg_lock_owner_enter(uintptr_t lock, bool stays)
{
    uint64_t seen = __atomic_load_n(tg_lock_owner_slot(lock), __ATOMIC_RELAXED);
    if (TG_AGENT_LIKELY(stays && seen == (tg_lock_owner_thread.id | lock)))
        return true;
    return tg_lock_owner_enter_slowly(lock, stays);
}

/* The calling thread is about to leave LOCK; another one may have entered it, which is then no owner. */
static inline __attribute__((always_inline)) void tg_lock_owner_leave(uintptr_t lock)
{
    uint64_t *slot = tg_lock_owner_slot(lock);
    uint64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (TG_AGENT_UNLIKELY(seen != (tg_lock_owner_thread.id | lock) && (seen & ~TG_LOCK_OWNER_NOBODY) == lock))
        __atomic_store_n(slot, TG_LOCK_OWNER_NOBODY, __ATOMIC_RELAXED);
}

#endif
