#include "recorder/agent/heap/sample.h"

#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/memory.h"

enum {
    NEAR_SLOTS = 1 << 12, /* the first ones */
    NEAR_TRIES = 8,
    SLOTS = 1 << 18, /* behind them */
    TRIES = 64,      /* all in all */
    REMOVED = 1,     /* in a slot: go on looking */
};

uint8_t tg_heap_sample_filter[TG_HEAP_SAMPLE_FILTER]; /* __atomic; 255: and stays so */
static uint64_t *slots;                               /* __atomic */

bool tg_heap_sample_prepare(void)
{
    slots = tg_heap_memory_map((NEAR_SLOTS + SLOTS) * sizeof slots[0], true);
    return slots != NULL;
}

/* ---- distances */

static uint64_t next_random(struct tg_heap_thread *thread)
{
    static uint64_t threads; /* __atomic */
    if (thread->random == 0) {
        uint64_t seed =
            tg_heap_hash_mix(__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED), (uintptr_t)thread);
        thread->random = tg_heap_hash_mix(seed, (uintptr_t)__builtin_frame_address(0)) | 1;
    }
    uint64_t x = thread->random; /* xorshift64* */
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    thread->random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* The natural logarithm of X in (0, 1], to nine digits. */
static double logarithm(double x)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    double m; /* in [1, 2) */
    __builtin_memcpy(&m, &bits, sizeof m);
    double s = (m - 1) / (m + 1), square = s * s, power = s, sum = 0; /* ln m = 2 artanh s */
    for (int k = 1; k < 20; k += 2) {
        sum += power / k;
        power *= square;
    }
    return 2 * sum + exponent * 0.69314718055994530942;
}

static int64_t draw_distance(struct tg_heap_thread *thread)
{
    double u = (double)((next_random(thread) >> 11) + 1) * 0x1p-53;
    double distance = -logarithm(u) * (double)tg_heap.settings.sample_bytes;
    return distance < 0x1p62 ? (int64_t)distance + 1 : INT64_C(1) << 62;
}

bool tg_heap_sample_draw(size_t size)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    if (thread->random == 0) {
        thread->left = draw_distance(thread);
        if (size < INT64_MAX && (int64_t)size < thread->left) {
            thread->left -= (int64_t)size;
            return false;
        }
    }
    thread->left = draw_distance(thread);
    return true;
}

/* ---- blocks that were hit */

/* The TRYth place where BLOCK may be. As long as they are few, blocks that are close together have their places close together:
 * less memory is touched for the first time. */
static inline uint64_t *slot_of(const void *block, uint32_t try)
{
    uint64_t address = (uintptr_t)block;
    if (try < NEAR_TRIES)
        return &slots[((address >> 9) + try) & (NEAR_SLOTS - 1)];
    return &slots[NEAR_SLOTS + ((tg_heap_hash_mix(0, address >> 4) + try) & (SLOTS - 1))];
}

bool tg_heap_sample_keep(const void *block)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        uint64_t *slot = slot_of(block, i);
        uint64_t found = __atomic_load_n(slot, __ATOMIC_RELAXED);
        if (found > REMOVED || !__atomic_compare_exchange_n(slot, &found, (uintptr_t)block, false,
                                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        uint8_t *count = tg_heap_sample_count(block);
        uint8_t before = __atomic_load_n(count, __ATOMIC_RELAXED);
        while (before < UINT8_MAX && !__atomic_compare_exchange_n(count, &before, (uint8_t)(before + 1),
                                                                  false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        return true;
    }
    return false;
}

bool tg_heap_sample_remove(const void *block)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        uint64_t *slot = slot_of(block, i);
        uint64_t found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (found == 0)
            return false;
        if (found != (uintptr_t)block ||
            !__atomic_compare_exchange_n(slot, &found, REMOVED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        uint8_t *count = tg_heap_sample_count(block);
        uint8_t before = __atomic_load_n(count, __ATOMIC_RELAXED);
        while (before < UINT8_MAX && !__atomic_compare_exchange_n(count, &before, (uint8_t)(before - 1),
                                                                  false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        return true;
    }
    return false;
}
