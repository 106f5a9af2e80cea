#include "recorder/leaks/live_ahead.h"

void tg_live_ahead_deinit(struct tg_live_ahead *ahead)
{
    tg_block_slots_deinit(&ahead->blocks);
}

/* A thread that reallocates a block says when it began to, and another one may have had its place by the time it says so. */
static void put(struct tg_live_ahead *ahead, const struct tg_block_slot *block)
{
    const struct tg_block_slot *known = tg_block_slots_find(&ahead->blocks, block->address);
    if (block->address == 0 || (known != NULL && known->time_ns > block->time_ns))
        return;
    if (!tg_block_slots_put(&ahead->blocks, block))
        ahead->is_lost = true;
}

void tg_live_ahead_add(struct tg_live_ahead *ahead, const struct tg_event *event)
{
    if (event->kind == TG_EVENT_HEAP_ALLOC || event->kind == TG_EVENT_HEAP_FREE ||
        event->kind == TG_EVENT_HEAP_RESIZE) {
        struct tg_block_slot block;
        tg_block_slot_fill(&block, event);
        put(ahead, &block);
    } else if (event->kind == TG_EVENT_HEAP_START) {
        ahead->has_start = true;
        ahead->is_sampled = event->heap_start.mode == TG_HEAP_SAMPLE;
        ahead->is_late = event->heap_start.is_late;
    } else if (event->kind == TG_EVENT_LOSS && event->loss.source == TG_LOSS_RING) {
        ahead->is_lost = true;
    }
}
