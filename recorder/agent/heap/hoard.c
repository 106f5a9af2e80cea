#include "recorder/agent/heap/hoard.h"

#include "recorder/agent/heap/guards.h"
#include "recorder/agent/heap/real.h"
#include "recorder/agent/heap/wishes.h"

static struct {
    struct tg_heap_lock lock;
    struct tg_heap_hoard_ring ring;
    size_t bytes; /* of all */
} hoard;

const struct tg_heap_hoard_ring *tg_heap_hoard_ring(void)
{
    return &hoard.ring;
}

/* GONE is a copy of what was kept. Whether that has changed. */
static bool check_paint(const struct tg_heap_block_entry *gone)
{
    return gone->is_painted && !gone->is_told &&
           tg_heap_guards_check_bytes(gone, gone->block, gone->size, TG_HEAP_PAINT_FREED,
                                      TG_HEAP_PAINT_CORRUPTION, "", NULL);
}

static void mark_told(uintptr_t block)
{
    struct tg_heap_lock *lock = tg_heap_block_table_lock(block);
    if (!tg_heap_lock_take(lock))
        return;
    struct tg_heap_block_entry *entry = tg_heap_block_table_find(block);
    if (entry != NULL)
        entry->is_told = true;
    tg_heap_lock_release(lock);
}

/* Gives the oldest block back to the allocator. With the hoard's lock held. */
static void give_back_one(void)
{
    uintptr_t block = hoard.ring.blocks[hoard.ring.first].block;
    hoard.bytes -= hoard.ring.blocks[hoard.ring.first].size;
    hoard.ring.first = (hoard.ring.first + 1) % TG_HEAP_HOARD_BLOCKS;
    hoard.ring.count--;
    struct tg_heap_block_entry gone = {0};
    struct tg_heap_lock *lock = tg_heap_block_table_lock(block);
    if (tg_heap_lock_take(lock)) {
        struct tg_heap_block_entry *entry = tg_heap_block_table_find(block);
        if (entry != NULL && entry->state == TG_HEAP_BLOCK_HOARDED) {
            gone = *entry;
            tg_heap_block_table_drop(entry);
        }
        tg_heap_lock_release(lock);
    }
    if (gone.block == 0)
        return;
    (void)check_paint(&gone);
    tg_heap_real_get()->free((void *)gone.base); // NOLINT: an address
}

void tg_heap_hoard_keep(uintptr_t block, size_t size)
{
    if (!tg_heap_lock_take(&hoard.lock))
        return; /* kept for ever: a handler within the hoard */
    size_t most = tg_heap_wishes_hoard_bytes();
    while (hoard.ring.count > 0 && (hoard.ring.count == TG_HEAP_HOARD_BLOCKS || hoard.bytes + size > most))
        give_back_one();
    if (hoard.ring.count == 0)
        hoard.bytes = 0; /* whatever siglongjmp left of it */
    hoard.ring.blocks[(hoard.ring.first + hoard.ring.count++) % TG_HEAP_HOARD_BLOCKS] =
        (struct tg_heap_hoarded){block, size};
    hoard.bytes += size;
    tg_heap_lock_release(&hoard.lock);
}

bool tg_heap_hoard_shrink(void)
{
    if (!tg_heap_lock_take(&hoard.lock))
        return false;
    bool any = hoard.ring.count > 0;
    while (hoard.ring.count > 0)
        give_back_one();
    tg_heap_lock_release(&hoard.lock);
    return any;
}

void tg_heap_hoard_check(bool only_own)
{
    if (!tg_heap_lock_take(&hoard.lock))
        return;
    for (uint32_t i = 0; i < hoard.ring.count; i++) {
        uintptr_t block = hoard.ring.blocks[(hoard.ring.first + i) % TG_HEAP_HOARD_BLOCKS].block;
        struct tg_heap_block_entry kept = {0};
        struct tg_heap_lock *lock = tg_heap_block_table_lock(block);
        if (!tg_heap_lock_take(lock))
            continue;
        const struct tg_heap_block_entry *entry = tg_heap_block_table_find(block);
        if (entry != NULL && entry->state == TG_HEAP_BLOCK_HOARDED &&
            (!only_own || entry->freed_generation == (uint32_t)*tg_agent.generation))
            kept = *entry;
        tg_heap_lock_release(lock);
        if (check_paint(&kept))
            mark_told(block);
    }
    tg_heap_lock_release(&hoard.lock);
}
