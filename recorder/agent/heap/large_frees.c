#include "recorder/agent/heap/large_frees.h"

#include "recorder/agent/heap/lock.h"

enum { FREES = 64 };

static struct {
    struct tg_heap_lock lock;
    struct tg_heap_block_entry entries[FREES]; /* a ring */
    uint32_t next;
} frees;

void tg_heap_large_frees_add(const struct tg_heap_block_entry *entry)
{
    if (!tg_heap_lock_take(&frees.lock))
        return; /* a handler within this */
    frees.entries[frees.next] = *entry;
    frees.next = (frees.next + 1) % FREES;
    tg_heap_lock_release(&frees.lock);
}

bool tg_heap_large_frees_find(uintptr_t block, struct tg_heap_block_entry *entry)
{
    bool is_found = false;
    if (!tg_heap_lock_take(&frees.lock))
        return false;
    for (uint32_t back = 1; !is_found && back <= FREES; back++) {
        *entry = frees.entries[(frees.next + FREES - back) % FREES];
        is_found = entry->block == block;
    }
    tg_heap_lock_release(&frees.lock);
    return is_found;
}
