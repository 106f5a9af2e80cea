#include "recorder/agent/lock_owner.h"

enum {
    MAX_THREADS = 0xfffe, /* behind them comes nobody */
    DICE_SHIFT = 26,      /* one in 64 */
};

uint64_t tg_lock_owners[TG_LOCK_OWNER_SLOTS] __attribute__((aligned(64)));
__thread struct tg_lock_owner_thread tg_lock_owner_thread __attribute__((tls_model("initial-exec")));

static uint32_t n_threads; /* __atomic: that were ever given an id */

static bool has_id(struct tg_lock_owner_thread *thread)
{
    if (thread->id != 0)
        return true;
    if (__atomic_load_n(&n_threads, __ATOMIC_RELAXED) >= MAX_THREADS)
        return false;
    uint32_t id = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
    if (id > MAX_THREADS)
        return false;
    thread->dice = id * 0x9e3779b9U;
    thread->id = (uint64_t)id << TG_LOCK_OWNER_SHIFT;
    return true;
}

static bool throw_dice(struct tg_lock_owner_thread *thread)
{
    thread->dice = thread->dice * 1664525 + 1013904223;
    return thread->dice >> DICE_SHIFT == 0;
}

bool tg_lock_owner_enter_slowly(uintptr_t lock, bool stays)
{
    struct tg_lock_owner_thread *thread = &tg_lock_owner_thread;
    uint64_t *slot = tg_lock_owner_slot(lock);
    uint64_t seen = __atomic_load_n(slot, __ATOMIC_RELAXED);
    bool puts_down = stays && has_id(thread) && (seen == 0 || throw_dice(thread));
    if (puts_down)
        __atomic_store_n(slot, thread->id | lock, __ATOMIC_RELAXED);
    else if ((seen & ~TG_LOCK_OWNER_NOBODY) == lock)
        __atomic_store_n(slot, TG_LOCK_OWNER_NOBODY, __ATOMIC_RELAXED);
    return false;
}
