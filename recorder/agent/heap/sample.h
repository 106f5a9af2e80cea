/* Sampling by bytes: samples are points on the line of all bytes that a thread allocates, at exponentially distributed
 * distances with the mean of the settings. A block of N bytes is hit by one at least with probability
 * 1 - exp(-N / mean), whatever was hit before. Blocks that were hit are kept in a table until they are freed. */
#ifndef TG_RECORDER_AGENT_HEAP_SAMPLE_H
#define TG_RECORDER_AGENT_HEAP_SAMPLE_H

#include "recorder/agent/heap/heap.h"

/* Once, before the others. False: there is no memory for the table. */
bool tg_heap_sample_prepare(void);

/* Internal to the function below: a sample is due, or none was drawn yet. */
bool tg_heap_sample_draw(size_t size);

/* Whether the block of SIZE bytes that the thread allocates is hit. */
static inline bool tg_heap_sample_hits(size_t size)
{
    struct tg_heap_thread *thread = &tg_heap_thread;
    int64_t bytes = size < INT64_MAX ? (int64_t)size : INT64_MAX;
    if (__builtin_expect(bytes < thread->left, 1)) {
        thread->left -= bytes;
        return false;
    }
    return tg_heap_sample_draw(size);
}

/* False: the table is full. */
bool tg_heap_sample_keep(const void *block);

/* A byte for a page: how many blocks in it, and in others that share the byte, are in the table, if it is not too many. What the
 * program frees is mostly close together, and so are the bytes: they take little of the processor's cache. */
enum { TG_HEAP_SAMPLE_FILTER = 1 << 16 };
extern uint8_t tg_heap_sample_filter[TG_HEAP_SAMPLE_FILTER];

static inline uint8_t *tg_heap_sample_count(const void *block)
{
    return &tg_heap_sample_filter[(uintptr_t)block >> 12 & (TG_HEAP_SAMPLE_FILTER - 1)];
}

/* Whether no block in the table can be BLOCK. */
static inline __attribute__((always_inline)) bool tg_heap_sample_lacks(const void *block)
{
    return __atomic_load_n(tg_heap_sample_count(block), __ATOMIC_RELAXED) == 0;
}

bool tg_heap_sample_remove(const void *block);

/* Takes BLOCK out of the table; false: it was not there. */
static inline bool tg_heap_sample_drop(const void *block)
{
    return __builtin_expect(!tg_heap_sample_lacks(block), 0) && tg_heap_sample_remove(block);
}

#endif
