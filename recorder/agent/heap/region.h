/* Where stacks are: how far a thread's may be read. */
#ifndef TG_RECORDER_AGENT_HEAP_REGION_H
#define TG_RECORDER_AGENT_HEAP_REGION_H

#include <stdint.h>

/* Behind the last byte of the mapping that ADDRESS, which is on a stack, is in. Where that cannot be known, the
 * end of its page. */
uintptr_t tg_heap_region_end(uintptr_t address);

/* The same with where the mapping begins: addresses in between need not be looked up. */
struct tg_heap_region {
    uintptr_t start, end;
};
struct tg_heap_region tg_heap_region_of(uintptr_t address);

#endif
