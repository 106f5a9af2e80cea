/* Large blocks that were freed last, which are not kept: their memory is mostly no longer mapped, and whoever frees one again is
 * told of a double free. */
#ifndef TG_RECORDER_AGENT_HEAP_LARGE_FREES_H
#define TG_RECORDER_AGENT_HEAP_LARGE_FREES_H

#include "recorder/agent/heap_block.h"

/* ENTRY's block was freed. */
void tg_heap_large_frees_add(const struct tg_heap_block_entry *entry);

/* The last one at BLOCK, as a copy; false: none is known. */
bool tg_heap_large_frees_find(uintptr_t block, struct tg_heap_block_entry *entry);

#endif
