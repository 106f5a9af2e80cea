/* The library's start. */
#ifndef TG_RECORDER_AGENT_HEAP_SETUP_H
#define TG_RECORDER_AGENT_HEAP_SETUP_H

#include "recorder/agent/heap/heap.h"

/* Whether calls go on to libc's own allocator: nothing that is linked or preloaded has another one. For the agent, to
 * be looked up by this name; valid once the library's constructor has run. */
extern bool tollgate_heap_is_libcs __attribute__((visibility("default")));

/* Begins to record where that is possible by now. True: it records. */
bool tg_heap_set_up(void);

static inline bool tg_heap_is_on(void)
{
    int state = __atomic_load_n(&tg_heap.state, __ATOMIC_ACQUIRE);
    return __builtin_expect(state == TG_HEAP_ON, 1) || (state == TG_HEAP_NOT_YET && tg_heap_set_up());
}

#endif
