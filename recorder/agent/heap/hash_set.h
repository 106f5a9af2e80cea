/* A set of numbers that threads and signal handlers share without a lock; a forked child's is empty. */
#ifndef TG_RECORDER_AGENT_HEAP_HASH_SET_H
#define TG_RECORDER_AGENT_HEAP_HASH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_heap_hash_set {
    uint64_t *slots; /* __atomic; a number without its lowest bit, which says that it is told; 0: free */
    uint32_t size;   /* a power of two */
};

enum tg_heap_hash_found {
    TG_HEAP_HASH_TOLD,
    TG_HEAP_HASH_UNTOLD, /* the entry is there, perhaps just added, and nobody has said that it is told */
    TG_HEAP_HASH_FULL,
};

/* Looks NUMBER, well mixed, up, and adds it where it is not there; *SLOT is its place in [0, size). Its lowest
 * bit does not count. */
static inline enum tg_heap_hash_found tg_heap_hash_set_add(const struct tg_heap_hash_set *set,
                                                           uint64_t number, uint32_t *slot)
{
    enum { TRIES = 128 };
    number = number > 1 ? number & ~UINT64_C(1) : 2;
    for (uint32_t i = 0; set->slots != NULL && i < TRIES; i++) {
        uint32_t place = ((uint32_t)(number >> 20) + i) & (set->size - 1);
        uint64_t found = __atomic_load_n(&set->slots[place], __ATOMIC_ACQUIRE);
        if (found == 0 && __atomic_compare_exchange_n(&set->slots[place], &found, number, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            found = number;
        if ((found & ~UINT64_C(1)) != number)
            continue;
        *slot = place;
        return (found & 1) != 0 ? TG_HEAP_HASH_TOLD : TG_HEAP_HASH_UNTOLD;
    }
    return TG_HEAP_HASH_FULL;
}

static inline void tg_heap_hash_set_told(const struct tg_heap_hash_set *set, uint32_t slot)
{
    __atomic_fetch_or(&set->slots[slot], 1, __ATOMIC_RELEASE);
}

static inline uint64_t tg_heap_hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
