/* Blocks of a heap by their addresses: a hash table for many millions of them. */
#ifndef TG_RECORDER_LEAKS_BLOCK_SLOTS_H
#define TG_RECORDER_LEAKS_BLOCK_SLOTS_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block, or a free place with address 0. */
struct tg_block_slot {
    uint64_t address, size_bytes;
    uint64_t time_ns;                                    /* of the call that gave it, or freed it */
    uint32_t stack : 30, is_inherited : 1, is_freed : 1; /* inherited: a forked child has it of its parent */
    int32_t tid;
};

struct tg_block_slots {
    struct tg_block_slot *items; /* a power of two of them, at most three quarters in use; NULL: none yet */
    size_t n_items, count;
};

/* What a heap_alloc, heap_resize or heap_free says of a block; freed: the stack and the thread are those of that call. Written in
 * place: a slot that is returned waits for its own small stores. */
void tg_block_slot_fill(struct tg_block_slot *slot, const struct tg_event *event);

void tg_block_slots_deinit(struct tg_block_slots *slots); /* none is left, and more may be put in */

/* In place of what is known of its address, which is not 0. False: without memory, and SLOTS is as it was. */
bool tg_block_slots_put(struct tg_block_slots *slots, const struct tg_block_slot *block);

/* *TO, which has none, gets those of FROM. False: without memory. */
bool tg_block_slots_copy(const struct tg_block_slots *from, struct tg_block_slots *to);

void tg_block_slots_remove(struct tg_block_slots *slots, struct tg_block_slot *slot);

static inline size_t tg_block_slots_place(uint64_t address, size_t n_items)
{
    return (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (n_items - 1);
}

/* The slot of ADDRESS; NULL: none. */
static inline struct tg_block_slot *tg_block_slots_find(const struct tg_block_slots *slots, uint64_t address)
{
    if (slots->n_items == 0 || address == 0)
        return NULL;
    size_t at = tg_block_slots_place(address, slots->n_items);
    while (slots->items[at].address != 0 && slots->items[at].address != address)
        at = (at + 1) & (slots->n_items - 1);
    return slots->items[at].address != 0 ? &slots->items[at] : NULL;
}

/* ADDRESS will be asked for. */
static inline void tg_block_slots_prefetch(const struct tg_block_slots *slots, uint64_t address)
{
    if (slots->n_items > 0)
        __builtin_prefetch(&slots->items[tg_block_slots_place(address, slots->n_items)], 1);
}

#endif
