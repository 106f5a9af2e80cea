#include "recorder/agent/idle_rings.h"

#include "recorder/agent/ring_private.h"

#include <stdbool.h>

enum { LOCK_TRIES = 1000 }; /* pauses: the list is not worth waiting for longer */

static struct {
    volatile char lock; /* __atomic */
    struct tg_agent_ring_header *first;
} idle;

/* For those who take a ring from the list. A handler may interrupt who holds it in the same thread: never waits for long. */
static bool lock_idle(void)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!__atomic_test_and_set(&idle.lock, __ATOMIC_ACQUIRE))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

static void unlock_idle(void)
{
    __atomic_clear(&idle.lock, __ATOMIC_RELEASE);
}

struct tg_agent_ring_header *tg_idle_rings_take(void)
{
    if (__atomic_load_n(&idle.first, __ATOMIC_RELAXED) == NULL || !lock_idle())
        return NULL;
    struct tg_agent_ring_header *header = __atomic_load_n(&idle.first, __ATOMIC_ACQUIRE);
    while (header != NULL && !__atomic_compare_exchange_n(&idle.first, &header, tg_ring_private(header)->next,
                                                          true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        continue; /* another one was put before it */
    unlock_idle();
    return header;
}

/* Without the lock, so that none is ever nobody's. */
void tg_idle_rings_put(struct tg_agent_ring_header *header)
{
    __atomic_store_n(&header->state, TG_AGENT_RING_IDLE, __ATOMIC_RELEASE);
    struct tg_agent_ring_header *next = __atomic_load_n(&idle.first, __ATOMIC_RELAXED);
    do
        tg_ring_private(header)->next = next;
    while (
        !__atomic_compare_exchange_n(&idle.first, &next, header, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

void tg_idle_rings_forget(void)
{
    idle.first = NULL;
    __atomic_clear(&idle.lock, __ATOMIC_RELEASE);
}
