#include "recorder/leaks/kept_blocks.h"

#include "recorder/process/memory.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uintptr_t x = ((const struct tg_heap_hoarded *)a)->block, y = ((const struct tg_heap_hoarded *)b)->block;
    return x < y ? -1 : x > y;
}

bool tg_kept_blocks_read(struct tg_kept_blocks *kept, pid_t tid, uint64_t address)
{
    kept->tid = tid;
    kept->count = 0;
    struct tg_heap_hoard_ring *ring = malloc(sizeof *ring);
    kept->blocks = malloc(sizeof ring->blocks);
    bool is_read = ring != NULL && kept->blocks != NULL && tg_memory_read(tid, address, ring, sizeof *ring) &&
                   ring->first < TG_HEAP_HOARD_BLOCKS && ring->count <= TG_HEAP_HOARD_BLOCKS;
    for (uint32_t i = 0; is_read && i < ring->count; i++)
        kept->blocks[kept->count++] = ring->blocks[(ring->first + i) % TG_HEAP_HOARD_BLOCKS];
    if (kept->count > 0)
        qsort(kept->blocks, kept->count, sizeof *kept->blocks, compare);
    free(ring);
    return is_read;
}

void tg_kept_blocks_deinit(struct tg_kept_blocks *kept)
{
    free(kept->blocks);
    *kept = (struct tg_kept_blocks){0};
}

/* How many bytes of ENTRY's block have changed, *FIRST of them the first, up to what cannot be read. */
static uint64_t count_changed(const struct tg_kept_blocks *kept, const struct tg_heap_block_entry *entry,
                              uint64_t *first)
{
    unsigned char *bytes = malloc(entry->size);
    size_t count = bytes == NULL ? 0 : tg_memory_read_some(kept->tid, entry->block, bytes, entry->size);
    uint64_t changed = 0;
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != TG_HEAP_PAINT_FREED && changed++ == 0)
            *first = entry->block + i;
    free(bytes);
    return changed;
}

/* As the hoard has it, too. */
static bool is_kept(const struct tg_kept_blocks *kept, const struct tg_heap_block_entry *entry)
{
    const struct tg_heap_hoarded wanted = {.block = entry->block};
    if (entry->state != TG_HEAP_BLOCK_HOARDED || !entry->is_painted || kept->count == 0 || entry->size == 0 ||
        entry->size > TG_HEAP_HOARDED_BYTES)
        return false;
    const struct tg_heap_hoarded *found = bsearch(&wanted, kept->blocks, kept->count, sizeof wanted, compare);
    return found != NULL && found->size == entry->size;
}

bool tg_kept_blocks_have_changed(const struct tg_kept_blocks *kept, const struct tg_heap_block_entry *entry,
                                 struct tg_event_heap_error *fault)
{
    uint64_t first = 0, changed = is_kept(kept, entry) ? count_changed(kept, entry, &first) : 0;
    *fault = (struct tg_event_heap_error){.error = TG_HEAP_PAINT_CORRUPTION,
                                          .address = first,
                                          .block = entry->block,
                                          .size_bytes = entry->size,
                                          .allocated_tid = entry->allocated_tid,
                                          .freed_tid = entry->freed_tid,
                                          .offset = (int64_t)(first - entry->block),
                                          .wrong_bytes = changed,
                                          .call = ""};
    return changed > 0;
}
