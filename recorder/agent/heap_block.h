/* A checked block, as the heap library's table has it (recorder/agent/heap/block_table.h). The recorder, which looks at guards
 * from outside, reads it too. */
#ifndef TG_RECORDER_AGENT_HEAP_BLOCK_H
#define TG_RECORDER_AGENT_HEAP_BLOCK_H

#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_heap_block_state {
    TG_HEAP_BLOCK_FREE, /* slot */
    TG_HEAP_BLOCK_LIVE,
    TG_HEAP_BLOCK_UNGUARDED, /* live, from before blocks were checked */
    TG_HEAP_BLOCK_HOARDED,   /* freed, and the allocator does not have it again */
};

struct tg_heap_block_entry {
    uintptr_t block;
    uintptr_t base; /* what the allocator gave */
    size_t size;
    uint32_t allocated_stack, freed_stack;
    int32_t allocated_tid, freed_tid;
    unsigned char state;    /* enum tg_heap_block_state */
    unsigned char call;     /* enum tg_heap_call */
    bool has_red_zones : 1; /* BASE is the block: none of the allocator's */
    bool has_guards : 1;
    bool is_painted : 1; /* since it was freed */
    bool
        is_told : 1; /* changes were told when the library looked at all blocks: at the end, or before an exec */
    unsigned char alignment; /* of an aligned operator new: one more than its logarithm; 0 of all others */
    unsigned char linked_in; /* enum tg_heap_linked_in_form */
    unsigned char behind;    /* bytes of the guard behind it; not where it has red zones */
    unsigned char unused[2];
    /* which fork of the program had these stacks: another one has other numbers */
    uint32_t allocated_generation, freed_generation;
    uintptr_t caller; /* of the call that gave it */
};
_Static_assert(sizeof(struct tg_heap_block_entry) == 64, "slots do not straddle cache lines");

/* What there is of the pages of a block with red zones before and behind it. */
static inline size_t tg_heap_red_zones_before(uintptr_t block)
{
    return block & 4095;
}

static inline size_t tg_heap_red_zones_behind(uintptr_t block, size_t size)
{
    return size == 0 ? 4096 - (block & 4095) : -(block + size) & 4095;
}

enum { TG_HEAP_GUARD_BEFORE = 0x77, TG_HEAP_GUARD_BEHIND = 0x99 }; /* each byte of them */
enum { TG_HEAP_PAINT_FREED = 0xde };                               /* each byte of a block that is kept */

/* A block that is kept after it was freed, and has its paint. */
struct tg_heap_hoarded {
    uintptr_t block;
    size_t size; /* of BLOCK: when it leaves, the table may have another one of this address, or none */
};

enum {
    TG_HEAP_HOARD_BLOCKS = 1 << 14,
    TG_HEAP_HOARDED_BYTES = 1 << 20, /* of one block, at most */
};
struct tg_heap_hoard_ring {
    uint32_t first, count;
    struct tg_heap_hoarded blocks[TG_HEAP_HOARD_BLOCKS];
};

enum { TG_HEAP_MOST_BEHIND = 112 };

/* What is asked of the allocator for the guard behind a block of SIZE bytes: large ones have steps that are large. */
static inline size_t tg_heap_guard_wanted(size_t size)
{
    return size < 256    ? TG_AGENT_HEAP_GUARD_BYTES
           : size < 1024 ? 2 * TG_AGENT_HEAP_GUARD_BYTES
                         : 4 * TG_AGENT_HEAP_GUARD_BYTES;
}

/* Bytes of ENTRY's guards; next to red zones there may be fewer, or none. */
static inline size_t tg_heap_guard_before(const struct tg_heap_block_entry *entry)
{
    size_t room = entry->has_red_zones ? tg_heap_red_zones_before(entry->block) : TG_AGENT_HEAP_GUARD_BYTES;
    return room < TG_AGENT_HEAP_GUARD_BYTES ? room : TG_AGENT_HEAP_GUARD_BYTES;
}

static inline size_t tg_heap_guard_behind(const struct tg_heap_block_entry *entry)
{
    if (!entry->has_red_zones)
        return entry->behind;
    /* up to the next multiple of a block's alignment no zone can begin */
    size_t room = tg_heap_red_zones_behind(entry->block, entry->size);
    return room < TG_AGENT_HEAP_GUARD_BYTES ? room : TG_AGENT_HEAP_GUARD_BYTES;
}

#endif
