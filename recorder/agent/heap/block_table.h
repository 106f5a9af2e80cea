/* The table of blocks that are checked: where each is, what it was asked with, whether it is live or kept after it was
 * freed. In parts with a lock each. It grows with the number of blocks, up to some two million: a program
 * whose memory is limited pays for what it has. */
#ifndef TG_RECORDER_AGENT_HEAP_BLOCK_TABLE_H
#define TG_RECORDER_AGENT_HEAP_BLOCK_TABLE_H

#include "recorder/agent/heap/lock.h"
#include "recorder/agent/heap_block.h"

#include <stddef.h>

/* ENTRY's block was allocated, or freed, at STACK, by this process. */
static inline void tg_heap_block_allocated_at(struct tg_heap_block_entry *entry, uint32_t stack)
{
    entry->allocated_stack = stack;
    entry->allocated_generation = (uint32_t)*tg_agent.generation;
}

static inline void tg_heap_block_freed_at(struct tg_heap_block_entry *entry, uint32_t stack)
{
    entry->freed_stack = stack;
    entry->freed_generation = (uint32_t)*tg_agent.generation;
}

/* These stacks' numbers as this process has them; 0: they are a parent's, which has told them as its own. */
static inline uint32_t tg_heap_block_allocated_stack(const struct tg_heap_block_entry *entry)
{
    return entry->allocated_generation == (uint32_t)*tg_agent.generation ? entry->allocated_stack : 0;
}

static inline uint32_t tg_heap_block_freed_stack(const struct tg_heap_block_entry *entry)
{
    return entry->freed_generation == (uint32_t)*tg_agent.generation ? entry->freed_stack : 0;
}

/* Once, before the others. False: there is no memory for it. */
bool tg_heap_block_table_prepare(void);

/* For who looks at the blocks from outside: the table's own head. */
struct tg_agent_heap_table *tg_heap_block_table_head(void);

/* The lock of the part that BLOCK's entry is in, or would be. */
struct tg_heap_lock *tg_heap_block_table_lock(uintptr_t block);

/* The lock of the part that ENTRY is in. */
struct tg_heap_lock *tg_heap_block_table_lock_of_entry(const struct tg_heap_block_entry *entry);

/* With its lock held; NULL: there is none. */
struct tg_heap_block_entry *tg_heap_block_table_find(uintptr_t block);

/* With its lock held: ENTRY's block is no more. */
void tg_heap_block_table_drop(struct tg_heap_block_entry *entry);

enum tg_heap_block_added {
    TG_HEAP_BLOCK_ADDED,
    TG_HEAP_BLOCK_FULL, /* the table has no place for it */
    TG_HEAP_BLOCK_BUSY, /* this thread has the lock: a signal handler has interrupted who uses the table */
};

/* Takes the lock itself. *REPLACED is the entry of a block in use at the same address, with block 0 where there was none. */
enum tg_heap_block_added tg_heap_block_table_add(const struct tg_heap_block_entry *new_entry,
                                                 struct tg_heap_block_entry *replaced);

/* Calls VISIT, without a lock, for each entry, until it returns true; whether it did. Slow. */
bool tg_heap_block_table_each(bool (*visit)(const struct tg_heap_block_entry *entry, void *context),
                              void *context);

#endif
