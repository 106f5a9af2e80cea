/* check, on request: blocks with pages of their own between pages that may not be touched. An access beside such a
 * block, or to one that was freed, is a fault at once: the recorder sees it, and knows the block by its address (the
 * room that they come from is in the record of the start). */
#ifndef TG_RECORDER_AGENT_HEAP_RED_ZONES_H
#define TG_RECORDER_AGENT_HEAP_RED_ZONES_H

#include "recorder/agent/heap_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where blocks with red zones come from; SIZE 0: there are none. */
struct tg_heap_red_room {
    uintptr_t start;
    size_t size;
};
extern struct tg_heap_red_room tg_heap_red_room;

/* Once, before the others; where the address space is too small for a room there will be none. */
void tg_heap_red_zones_prepare(void);

/* A block of SIZE bytes at a multiple of ALIGNMENT, a power of two, whose pages hold zeros; false: such blocks have no red
 * zones, or there is no room, and it is to come from elsewhere. *FORGOTTEN is a block that was freed long ago, whose pages
 * it has, 0 none. */
bool tg_heap_red_zones_take(size_t alignment, size_t size, uintptr_t *block, uintptr_t *forgotten);

/* BLOCK, of SIZE bytes, is one of these, and is freed: no byte of it can be touched any more. */
void tg_heap_red_zones_drop(uintptr_t block, size_t size);

static inline bool tg_heap_red_zones_have(uintptr_t address)
{
    return address - tg_heap_red_room.start < tg_heap_red_room.size;
}

#endif
