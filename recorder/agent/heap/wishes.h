/* What the controller of a live job wishes of the heap at this moment. */
#ifndef TG_RECORDER_AGENT_HEAP_WISHES_H
#define TG_RECORDER_AGENT_HEAP_WISHES_H

#include "recorder/agent/heap/heap.h"
#include "recorder/agent/process.h"

/* Where the library is on. */
static inline const struct tg_agent_heap_wishes *tg_heap_wishes(void)
{
    return &tg_agent.control->heap_wishes;
}

static inline bool tg_heap_wishes_off(enum tg_agent_heap_off part)
{
    return (__atomic_load_n(&tg_heap_wishes()->off, __ATOMIC_RELAXED) & part) != 0;
}

static inline size_t tg_heap_wishes_hoard_bytes(void)
{
    uint64_t bytes = __atomic_load_n(&tg_heap_wishes()->hoard_bytes, __ATOMIC_RELAXED);
    return bytes != 0 ? (size_t)bytes : TG_AGENT_HEAP_HOARD_BYTES;
}

static inline bool tg_heap_wishes_has_tags(void)
{
    return __atomic_load_n(&tg_heap_wishes()->n_tags, __ATOMIC_RELAXED) != 0;
}

void tg_heap_wishes_tell_tagged(const void *block, enum tg_agent_heap_tag_end end, const char *call,
                                const void *frame);

/* BLOCK, not NULL, is about to be freed or reallocated by CALL: an event if it is tagged. */
static inline __attribute__((always_inline)) void
tg_heap_wishes_meet(const void *block, enum tg_agent_heap_tag_end end, const char *call, const void *frame)
{
    if (TG_AGENT_UNLIKELY(tg_heap_wishes_has_tags()))
        tg_heap_wishes_tell_tagged(block, end, call, frame);
}

#endif
