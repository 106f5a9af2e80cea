/* The hoard: freed blocks that are kept for a while, so that who still uses them is found. Bounded; the oldest ones go back
 * to the allocator first. */
#ifndef TG_RECORDER_AGENT_HEAP_HOARD_H
#define TG_RECORDER_AGENT_HEAP_HOARD_H

#include "recorder/agent/heap_block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For who looks from outside: the blocks that are kept. */
const struct tg_heap_hoard_ring *tg_heap_hoard_ring(void);

/* Keeps BLOCK, whose entry says that it is hoarded. */
void tg_heap_hoard_keep(uintptr_t block, size_t size);

/* There is no memory: whether some of the hoard's went back. */
bool tg_heap_hoard_shrink(void);

/* Records as mistakes what was written to blocks that are kept, since they were painted; ONLY_OWN: that this process has freed,
 * and not the one that it was forked from. */
void tg_heap_hoard_check(bool only_own);

#endif
