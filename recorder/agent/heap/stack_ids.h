/* Numbers of stacks, from 1 without large gaps: who keeps something for each number keeps it closely together. Threads and signal
 * handlers share them without a lock; a forked child has none. */
#ifndef TG_RECORDER_AGENT_HEAP_STACK_IDS_H
#define TG_RECORDER_AGENT_HEAP_STACK_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_HEAP_STACK_ID_BITS = 20,
    TG_HEAP_STACK_LAST_ID = (1 << TG_HEAP_STACK_ID_BITS) - 1,
    TG_HEAP_STACK_SMALLEST =
        6, /* the smallest of the tables is so many binary orders smaller than the largest, ... */
    TG_HEAP_STACK_STEP = 3, /* ... each of the others by so many than the next */
};

/* Three tables, one behind the other: as long as there are few stacks, they are close together, in the smallest one. */
struct tg_heap_stack_ids {
    uint64_t *
        slots; /* __atomic; bit 0 says that it is told, then the id's, then the highest of the hash; 0: free. The first is none, but
                      * how many ids were given out. NULL: no room */
    uint32_t size; /* slots of the largest table: a power of two, at least 64 */
};

/* Bytes of SLOTS for SIZE, zeroed by who has them. */
static inline size_t tg_heap_stack_ids_bytes(uint32_t size)
{
    size_t n_slots = 1;
    for (int order = TG_HEAP_STACK_SMALLEST; order >= 0; order -= TG_HEAP_STACK_STEP)
        n_slots += size >> order;
    return n_slots * sizeof(uint64_t);
}

enum tg_heap_stack_found {
    TG_HEAP_STACK_TOLD,
    TG_HEAP_STACK_UNTOLD, /* has an id, perhaps since just now, and nobody has said that it is told */
    TG_HEAP_STACK_FULL,
};

struct tg_heap_stack_id {
    uint32_t id;
    uint64_t *slot;
};

/* What is in SLOT, which was free, where the next id is given to HASH; 0: there is none any more. */
static inline uint64_t tg_heap_stack_ids_take(const struct tg_heap_stack_ids *ids, uint64_t *slot,
                                              uint64_t hash)
{
    uint64_t next = __atomic_add_fetch(&ids->slots[0], 1, __ATOMIC_RELAXED), found = 0;
    if (next > TG_HEAP_STACK_LAST_ID) {
        __atomic_sub_fetch(&ids->slots[0], 1, __ATOMIC_RELAXED);
        return 0;
    }
    uint64_t made = (hash & UINT64_MAX << (TG_HEAP_STACK_ID_BITS + 1)) | next << 1;
    return __atomic_compare_exchange_n(slot, &found, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? made
                                                                                                      : found;
}

/* The id of the stack with HASH, well mixed, which gets one where it has none. */
static inline enum tg_heap_stack_found tg_heap_stack_ids_add(const struct tg_heap_stack_ids *ids,
                                                             uint64_t hash, struct tg_heap_stack_id *id)
{
    enum { TRIES = 8, LAST_TRIES = 128 };
    if (ids->slots == NULL)
        return TG_HEAP_STACK_FULL;
    uint64_t *table = ids->slots + 1;
    hash |= UINT64_C(1) << 63; /* no slot looks free */
    for (int order = TG_HEAP_STACK_SMALLEST; order >= 0; order -= TG_HEAP_STACK_STEP) {
        uint32_t size = ids->size >> order, tries = order > 0 ? TRIES : LAST_TRIES;
        for (uint32_t i = 0; i < tries && i < size; i++) {
            uint64_t *slot = &table[((uint32_t)hash + i) & (size - 1)];
            uint64_t found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
            if (found == 0 && (found = tg_heap_stack_ids_take(ids, slot, hash)) == 0)
                return TG_HEAP_STACK_FULL;
            if ((found ^ hash) >> (TG_HEAP_STACK_ID_BITS + 1) != 0)
                continue;
            *id = (struct tg_heap_stack_id){(uint32_t)(found >> 1) & TG_HEAP_STACK_LAST_ID, slot};
            return (found & 1) != 0 ? TG_HEAP_STACK_TOLD : TG_HEAP_STACK_UNTOLD;
        }
        table += size;
    }
    return TG_HEAP_STACK_FULL;
}

static inline void tg_heap_stack_ids_told(const struct tg_heap_stack_id *id)
{
    __atomic_fetch_or(id->slot, 1, __ATOMIC_RELEASE);
}

#endif
