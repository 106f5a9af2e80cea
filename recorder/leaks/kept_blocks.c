#include "recorder/leaks/kept_blocks.h"

#include "recorder/process/memory.h"

#include <stdlib.h>

enum { PART_BYTES = 1 << 16 }; /* of a block, read at a time */

static int compare(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

bool tg_kept_blocks_read(struct tg_kept_blocks *kept, pid_t tid, uint64_t address)
{
    kept->tid = tid;
    kept->count = 0;
    kept->ring = malloc(sizeof *kept->ring);
    kept->addresses = malloc(TG_HEAP_HOARD_BLOCKS * sizeof *kept->addresses);
    if (kept->ring == NULL || kept->addresses == NULL ||
        !tg_memory_read(tid, address, kept->ring, sizeof *kept->ring) ||
        kept->ring->first >= TG_HEAP_HOARD_BLOCKS || kept->ring->count > TG_HEAP_HOARD_BLOCKS)
        return false;
    for (uint32_t i = 0; i < kept->ring->count; i++)
        kept->addresses[kept->count++] =
            kept->ring->blocks[(kept->ring->first + i) % TG_HEAP_HOARD_BLOCKS].block;
    qsort(kept->addresses, kept->count, sizeof *kept->addresses, compare);
    return true;
}

void tg_kept_blocks_deinit(struct tg_kept_blocks *kept)
{
    free(kept->ring);
    free(kept->addresses);
    *kept = (struct tg_kept_blocks){0};
}

/* How many bytes of ENTRY's block have changed, *FIRST of them the first. What cannot be read is not counted. */
static uint64_t count_changed(const struct tg_kept_blocks *kept, const struct tg_heap_block_entry *entry,
                              uint64_t *first)
{
    unsigned char *bytes = malloc(PART_BYTES);
    uint64_t changed = 0;
    for (uint64_t at = 0; bytes != NULL && at < entry->size; at += PART_BYTES) {
        size_t size = entry->size - at < PART_BYTES ? (size_t)(entry->size - at) : PART_BYTES;
        size = tg_memory_read_some(kept->tid, entry->block + at, bytes, size);
        for (size_t i = 0; i < size; i++)
            if (bytes[i] != TG_HEAP_PAINT_FREED && changed++ == 0)
                *first = entry->block + at + i;
    }
    free(bytes);
    return changed;
}

bool tg_kept_blocks_have_changed(const struct tg_kept_blocks *kept, const struct tg_heap_block_entry *entry,
                                 struct tg_event_heap_error *fault)
{
    uint64_t first = 0;
    if (entry->state != TG_HEAP_BLOCK_HOARDED || !entry->is_painted || kept->count == 0 ||
        bsearch(&entry->block, kept->addresses, kept->count, sizeof entry->block, compare) == NULL)
        return false;
    uint64_t changed = count_changed(kept, entry, &first);
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
