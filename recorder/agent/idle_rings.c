#include "recorder/agent/idle_rings.h"

#include "recorder/agent/ring_private.h"
#include "recorder/agent/ring_size.h"

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

static uint64_t check_of(const struct tg_idle_ring *ring)
{
    return ((uintptr_t)ring->next ^ ring->data_bytes << 1 ^ ring->written << 2 ^ 1) *
           UINT64_C(0xff51afd7ed558ccd);
}

static bool is_whole(struct tg_agent_ring_header *header)
{
    const struct tg_idle_ring *ring = &tg_ring_private(header)->idle;
    return ring->check == check_of(ring);
}

static struct tg_agent_ring_header *take_first(void)
{
    if (__atomic_load_n(&idle.first, __ATOMIC_RELAXED) == NULL || !lock_idle())
        return NULL;
    struct tg_agent_ring_header *header = __atomic_load_n(&idle.first, __ATOMIC_ACQUIRE), *next;
    do
        next = header != NULL && is_whole(header) ? tg_ring_private(header)->idle.next : NULL;
    while (header != NULL &&
           !__atomic_compare_exchange_n(&idle.first, &header, next, true, __ATOMIC_ACQUIRE,
                                        __ATOMIC_ACQUIRE)); /* another one was put before it */
    unlock_idle();
    return header;
}

bool tg_idle_rings_take(struct tg_agent_thread *thread)
{
    struct tg_agent_ring_header *header = take_first();
    if (header == NULL || !is_whole(header))
        return false;
    const struct tg_idle_ring ring = tg_ring_private(header)->idle;
    struct tg_ring_lap lap;
    if (!tg_ring_last_lap(header, &lap) || lap.data_bytes != ring.data_bytes)
        return false;
    tg_ring_adopt(thread, header, ring.data_bytes, ring.written);
    return true;
}

/* Without the lock, so that none is ever nobody's. */
void tg_idle_rings_put(const struct tg_agent_thread *thread)
{
    struct tg_agent_ring_header *header = thread->header;
    struct tg_idle_ring *ring = &tg_ring_private(header)->idle;
    __atomic_store_n(&header->state, TG_AGENT_RING_IDLE, __ATOMIC_RELEASE);
    ring->data_bytes = thread->mask + 1;
    ring->written = thread->written;
    ring->next = __atomic_load_n(&idle.first, __ATOMIC_RELAXED);
    do
        ring->check = check_of(ring);
    while (!__atomic_compare_exchange_n(&idle.first, &ring->next, header, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

void tg_idle_rings_forget(void)
{
    idle.first = NULL;
    __atomic_clear(&idle.lock, __ATOMIC_RELEASE);
}
