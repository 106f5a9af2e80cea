#include "recorder/leaks/block_slots.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE_BYTES = 1 << 21,
    FIRST_ITEMS = 1 << 8,
    MAX_STACK = (1 << 30) - 1,
};

/* NUMBER as a slot has it; 0, unknown, where it has no room. */
static uint32_t stack_of(uint64_t number)
{
    return number <= MAX_STACK ? (uint32_t)number & MAX_STACK : 0;
}

void tg_block_slot_fill(struct tg_block_slot *slot, const struct tg_event *event)
{
    uint64_t address, size_bytes = 0, stack;
    if (event->kind == TG_EVENT_HEAP_ALLOC) {
        address = event->heap_alloc.address;
        size_bytes = event->heap_alloc.size_bytes;
        stack = event->heap_alloc.stack;
    } else if (event->kind == TG_EVENT_HEAP_RESIZE) {
        address = event->heap_resize.address;
        size_bytes = event->heap_resize.size_bytes;
        stack = event->heap_resize.stack;
    } else {
        address = event->heap_free.address;
        stack = event->heap_free.stack;
    }
    slot->address = address;
    slot->size_bytes = size_bytes;
    slot->time_ns = event->time_ns;
    slot->tid = event->tid;
    slot->stack = stack_of(stack) & MAX_STACK; /* these three are one store */
    slot->is_inherited = 0;
    slot->is_freed = event->kind == TG_EVENT_HEAP_FREE;
}

static bool is_mapped(size_t n_items)
{
    return n_items * sizeof(struct tg_block_slot) >= HUGE_PAGE_BYTES;
}

/* N_ITEMS, a power of two of free ones, NULL without memory. What is large and looked into everywhere has large pages,
 * where there are any. */
static struct tg_block_slot *make_items(size_t n_items)
{
    if (!is_mapped(n_items))
        return calloc(n_items, sizeof(struct tg_block_slot));
    size_t size = n_items * sizeof(struct tg_block_slot), all = size + HUGE_PAGE_BYTES;
    char *start = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)start & (HUGE_PAGE_BYTES - 1);
    if (before > 0)
        munmap(start, before);
    munmap(start + before + size, all - before - size);
    madvise(start + before, size, MADV_HUGEPAGE);
    return (struct tg_block_slot *)(void *)(start + before);
}

static void free_items(struct tg_block_slot *items, size_t n_items)
{
    if (items != NULL && is_mapped(n_items))
        munmap(items, n_items * sizeof *items);
    else
        free(items);
}

void tg_block_slots_deinit(struct tg_block_slots *slots)
{
    free_items(slots->items, slots->n_items);
    *slots = (struct tg_block_slots){0};
}

/* The slot of ADDRESS, or the free one where it would be. */
static struct tg_block_slot *find_place(const struct tg_block_slots *slots, uint64_t address)
{
    size_t at = tg_block_slots_place(address, slots->n_items);
    while (slots->items[at].address != 0 && slots->items[at].address != address)
        at = (at + 1) & (slots->n_items - 1);
    return &slots->items[at];
}

static bool grow(struct tg_block_slots *slots)
{
    struct tg_block_slots larger = {.n_items = slots->n_items == 0 ? FIRST_ITEMS : 2 * slots->n_items,
                                    .count = slots->count};
    larger.items = make_items(larger.n_items);
    if (larger.items == NULL)
        return false;
    for (size_t i = 0; i < slots->n_items; i++)
        if (slots->items[i].address != 0)
            *find_place(&larger, slots->items[i].address) = slots->items[i];
    free_items(slots->items, slots->n_items);
    *slots = larger;
    return true;
}

bool tg_block_slots_put(struct tg_block_slots *slots, const struct tg_block_slot *block)
{
    if (4 * (slots->count + 1) > 3 * slots->n_items && !grow(slots))
        return false;
    struct tg_block_slot *slot = find_place(slots, block->address);
    slots->count += slot->address == 0;
    *slot = *block;
    return true;
}

bool tg_block_slots_copy(const struct tg_block_slots *from, struct tg_block_slots *to)
{
    if (from->n_items == 0)
        return true;
    to->items = make_items(from->n_items);
    if (to->items == NULL)
        return false;
    memcpy(to->items, from->items, from->n_items * sizeof *to->items);
    to->n_items = from->n_items;
    to->count = from->count;
    return true;
}

/* Slots behind the removed one move up, so that none is out of reach. */
void tg_block_slots_remove(struct tg_block_slots *slots, struct tg_block_slot *slot)
{
    size_t mask = slots->n_items - 1, hole = (size_t)(slot - slots->items), at = hole;
    for (;;) {
        at = (at + 1) & mask;
        if (slots->items[at].address == 0)
            break;
        size_t home = tg_block_slots_place(slots->items[at].address, slots->n_items);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        slots->items[hole] = slots->items[at];
        hole = at;
    }
    slots->items[hole].address = 0;
    slots->count--;
}
