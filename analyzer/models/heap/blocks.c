#include "analyzer/models/heap/blocks.h"

#include <stdbool.h>
#include <stdlib.h>

enum { MIN_SLOTS = 256 };

void tg_heap_blocks_deinit(struct tg_heap_blocks *blocks)
{
    free(blocks->slots);
    *blocks = (struct tg_heap_blocks){0};
}

/* The slot where the search for ADDRESS begins. Neighbours in memory are neighbours here no longer: a hostile trace
 * gains nothing from regular addresses. */
static size_t home_of(const struct tg_heap_blocks *blocks, uint64_t address)
{
    uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)((hash ^ hash >> 32) & (blocks->n_slots - 1));
}

struct tg_heap_block *tg_heap_blocks_find(const struct tg_heap_blocks *blocks, uint64_t address)
{
    if (blocks->count == 0 || address == 0)
        return NULL;
    for (size_t at = home_of(blocks, address);; at = (at + 1) & (blocks->n_slots - 1)) {
        struct tg_heap_block *block = &blocks->slots[at];
        if (block->address == address)
            return block;
        if (block->address == 0)
            return NULL;
    }
}

static void place(struct tg_heap_blocks *blocks, const struct tg_heap_block *block)
{
    size_t at = home_of(blocks, block->address);
    while (blocks->slots[at].address != 0)
        at = (at + 1) & (blocks->n_slots - 1);
    blocks->slots[at] = *block;
    blocks->count++;
}

static struct tg_error *grow(struct tg_heap_blocks *blocks)
{
    struct tg_heap_blocks larger = {.n_slots = blocks->n_slots == 0 ? MIN_SLOTS : 2 * blocks->n_slots};
    larger.slots = calloc(larger.n_slots, sizeof *larger.slots);
    if (larger.slots == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < blocks->n_slots; i++)
        if (blocks->slots[i].address != 0)
            place(&larger, &blocks->slots[i]);
    free(blocks->slots);
    *blocks = larger;
    return NULL;
}

struct tg_error *tg_heap_blocks_put(struct tg_heap_blocks *blocks, const struct tg_heap_block *block)
{
    if (4 * (blocks->count + 1) > 3 * blocks->n_slots) {
        struct tg_error *error = grow(blocks);
        if (error != NULL)
            return error;
    }
    place(blocks, block);
    return NULL;
}

/* Whether slot AT lies cyclically in (FROM, TO]. */
static bool is_between(size_t from, size_t at, size_t to)
{
    return from <= to ? from < at && at <= to : from < at || at <= to;
}

void tg_heap_blocks_remove(struct tg_heap_blocks *blocks, struct tg_heap_block *block)
{
    size_t gap = (size_t)(block - blocks->slots), mask = blocks->n_slots - 1;
    for (size_t at = (gap + 1) & mask; blocks->slots[at].address != 0; at = (at + 1) & mask) {
        if (is_between(gap, home_of(blocks, blocks->slots[at].address), at))
            continue;
        blocks->slots[gap] = blocks->slots[at];
        gap = at;
    }
    blocks->slots[gap].address = 0;
    blocks->count--;
}

struct tg_heap_block *tg_heap_blocks_next(const struct tg_heap_blocks *blocks,
                                          const struct tg_heap_block *block)
{
    for (size_t i = block == NULL ? 0 : (size_t)(block - blocks->slots) + 1; i < blocks->n_slots; i++)
        if (blocks->slots[i].address != 0)
            return &blocks->slots[i];
    return NULL;
}
