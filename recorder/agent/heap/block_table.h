/* The table of blocks that are checked: where each is, what it was asked with, whether it is live, kept after it was
 * freed, or gone. In parts with a lock each. */
#ifndef TG_RECORDER_AGENT_HEAP_BLOCK_TABLE_H
#define TG_RECORDER_AGENT_HEAP_BLOCK_TABLE_H

#include "recorder/agent/heap/lock.h"

#include <stddef.h>

enum tg_heap_block_state {
    TG_HEAP_BLOCK_FREE, /* slot */
    TG_HEAP_BLOCK_LIVE,
    TG_HEAP_BLOCK_UNGUARDED, /* live, from before blocks were checked */
    TG_HEAP_BLOCK_HOARDED,
    TG_HEAP_BLOCK_GONE, /* freed, and the allocator has it again */
};

struct tg_heap_block_entry {
    uintptr_t block;
    uintptr_t base; /* what the allocator gave */
    size_t size;
    uint32_t allocated_stack, freed_stack;
    int32_t allocated_tid, freed_tid;
    unsigned char state; /* enum tg_heap_block_state */
    unsigned char call;  /* enum tg_heap_call */
    bool has_red_zones;  /* BASE is the block: none of the allocator's */
    bool has_guards;
    bool is_painted; /* since it was freed */
    unsigned char unused[19];
};
_Static_assert(sizeof(struct tg_heap_block_entry) == 64, "slots do not straddle cache lines");

/* Once, before the others. False: there is no memory for it. */
bool tg_heap_block_table_prepare(void);

/* The lock of the part that BLOCK's entry is in, or would be. */
struct tg_heap_lock *tg_heap_block_table_lock(uintptr_t block);

/* The lock of the part that ENTRY is in. */
struct tg_heap_lock *tg_heap_block_table_lock_of_entry(const struct tg_heap_block_entry *entry);

/* With its lock held; NULL: there is none. */
struct tg_heap_block_entry *tg_heap_block_table_find(uintptr_t block);

/* Takes the lock itself. *REPLACED is the entry of a block in use at the same address, with block 0 where there was none.
 * False: the table is full, or this thread has the lock. */
bool tg_heap_block_table_add(const struct tg_heap_block_entry *new_entry,
                             struct tg_heap_block_entry *replaced);

/* Calls VISIT, without a lock, for each entry of parts that have had one, until it returns true; whether it did. Slow. */
bool tg_heap_block_table_each(bool (*visit)(const struct tg_heap_block_entry *entry, void *context),
                              void *context);

#endif
