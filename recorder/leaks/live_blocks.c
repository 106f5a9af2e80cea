#include "recorder/leaks/live_blocks.h"

#include "format/base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE_BYTES = 1 << 21,
    FIRST_SLOTS = 1 << 8,
    ENDED = 1 << 15,
    PAGE_BYTES = 4096,
    WAITING = 512,
    AHEAD = 16, /* of those that wait: so many before its turn the place of one is asked for */
};

/* A block, or a free place with address 0. */
struct slot {
    uint64_t address, size_bytes;
    uint64_t time_ns;                      /* of the call that gave it */
    uint32_t stack : 31, is_inherited : 1; /* a forked child has it of its parent */
    int32_t tid;
};

/* A block with red zones that was freed. */
struct ended {
    struct slot block;
    uint32_t freed_stack;
    int32_t freed_tid;
};

struct heap {
    pid_t pid;
    bool is_sampled, is_late, is_lost;
    struct slot *slots; /* a power of two of them, at most three quarters in use */
    size_t n_slots, count;
    uint64_t red_zone_start, red_zone_bytes; /* where blocks with red zones are */
    struct ended *ended;                     /* a ring of the latest of these; NULL: none yet */
    size_t n_ended;                          /* that there were */
    UT_hash_handle hh;
};

/* A block that was given out, resized or freed. */
struct change {
    struct slot block; /* freed: its stack and thread are those of the call that freed it */
    pid_t pid;
    bool is_free;
};

/* Blocks come and go a million times in a second, and their slots are all over the memory. Changes wait, and are made
 * together: slots are asked for before they are needed, and the lock is taken once. */
struct tg_live_blocks {
    pthread_mutex_t lock;
    struct heap *heaps;
    size_t n_made;    /* of WAITING, by whoever asked since */
    size_t n_waiting; /* __atomic; grows without the lock */
    struct change waiting[WAITING];
};

/* ---- one heap */

static size_t place_of(uint64_t address, size_t n_slots)
{
    return (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (n_slots - 1);
}

/* The slot of ADDRESS, or the free one where it would be. */
static struct slot *find_slot(struct slot *slots, size_t n_slots, uint64_t address)
{
    size_t at = place_of(address, n_slots);
    while (slots[at].address != 0 && slots[at].address != address)
        at = (at + 1) & (n_slots - 1);
    return &slots[at];
}

static bool is_mapped(size_t n_slots)
{
    return n_slots * sizeof(struct slot) >= HUGE_PAGE_BYTES;
}

/* N_SLOTS, a power of two of free ones, NULL without memory. What is large and looked into everywhere has large pages,
 * where there are any. */
static struct slot *make_slots(size_t n_slots)
{
    if (!is_mapped(n_slots))
        return calloc(n_slots, sizeof(struct slot));
    size_t size = n_slots * sizeof(struct slot), all = size + HUGE_PAGE_BYTES;
    char *start = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)start & (HUGE_PAGE_BYTES - 1);
    if (before > 0)
        munmap(start, before);
    munmap(start + before + size, all - before - size);
    madvise(start + before, size, MADV_HUGEPAGE);
    return (struct slot *)(void *)(start + before);
}

static void free_slots(struct slot *slots, size_t n_slots)
{
    if (slots != NULL && is_mapped(n_slots))
        munmap(slots, n_slots * sizeof *slots);
    else
        free(slots);
}

static void drop_slots(struct heap *heap)
{
    free_slots(heap->slots, heap->n_slots);
    heap->slots = NULL;
    heap->n_slots = heap->count = 0;
}

static bool grow(struct heap *heap)
{
    size_t n_slots = heap->n_slots == 0 ? FIRST_SLOTS : 2 * heap->n_slots;
    struct slot *slots = make_slots(n_slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < heap->n_slots; i++)
        if (heap->slots[i].address != 0)
            *find_slot(slots, n_slots, heap->slots[i].address) = heap->slots[i];
    free_slots(heap->slots, heap->n_slots);
    heap->slots = slots;
    heap->n_slots = n_slots;
    return true;
}

static void put(struct heap *heap, const struct slot *block)
{
    if (heap->is_lost || block->address == 0)
        return;
    if (4 * (heap->count + 1) > 3 * heap->n_slots && !grow(heap)) {
        heap->is_lost = true;
        drop_slots(heap);
        return;
    }
    struct slot *slot = find_slot(heap->slots, heap->n_slots, block->address);
    heap->count += slot->address == 0;
    *slot = *block;
}

/* Those behind it move up, so that none is out of reach. */
static void remove_slot(struct heap *heap, struct slot *slot)
{
    size_t mask = heap->n_slots - 1, hole = (size_t)(slot - heap->slots), at = hole;
    for (;;) {
        at = (at + 1) & mask;
        if (heap->slots[at].address == 0)
            break;
        size_t home = place_of(heap->slots[at].address, heap->n_slots);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        heap->slots[hole] = heap->slots[at];
        hole = at;
    }
    heap->slots[hole].address = 0;
    heap->count--;
}

static struct slot *find(struct heap *heap, uint64_t address)
{
    if (heap->n_slots == 0 || address == 0)
        return NULL;
    struct slot *slot = find_slot(heap->slots, heap->n_slots, address);
    return slot->address != 0 ? slot : NULL;
}

/* ---- all of them */

struct tg_error *tg_live_blocks_create(struct tg_live_blocks **live)
{
    *live = calloc(1, sizeof **live);
    if (*live == NULL)
        return tg_error_no_memory();
    pthread_mutex_init(&(*live)->lock, NULL);
    return NULL;
}

static void forget(struct tg_live_blocks *live, struct heap *heap)
{
    if (heap == NULL)
        return;
    HASH_DEL(live->heaps, heap);
    drop_slots(heap);
    free(heap->ended);
    free(heap);
}

void tg_live_blocks_destroy(struct tg_live_blocks *live)
{
    struct heap *heap, *next;
    if (live == NULL)
        return;
    HASH_ITER (hh, live->heaps, heap, next)
        forget(live, heap);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

static struct heap *find_heap(struct tg_live_blocks *live, pid_t pid)
{
    struct heap *heap;
    HASH_FIND(hh, live->heaps, &pid, sizeof pid, heap);
    return heap;
}

static struct heap *make_heap(struct tg_live_blocks *live, pid_t pid)
{
    forget(live, find_heap(live, pid));
    struct heap *heap = NULL;
    return TG_HASH_CREATE(hh, live->heaps, pid, &pid, heap) == NULL ? heap : NULL;
}

static void start(struct tg_live_blocks *live, const struct tg_event *event)
{
    struct heap *heap = make_heap(live, event->pid);
    if (heap == NULL)
        return;
    heap->is_sampled = event->heap_start.mode == TG_HEAP_SAMPLE;
    heap->is_late = event->heap_start.is_late;
    heap->red_zone_start = event->heap_start.red_zone_start;
    heap->red_zone_bytes = event->heap_start.red_zone_bytes;
}

/* A forked child has what its parent had. */
static void start_process(struct tg_live_blocks *live, const struct tg_event *event)
{
    struct heap *parent = find_heap(live, (pid_t)event->process_start.parent_pid);
    forget(live, find_heap(live, event->pid));
    if (event->process_start.origin != TG_ORIGIN_FORK || parent == NULL)
        return;
    struct heap *child = make_heap(live, event->pid);
    if (child == NULL)
        return;
    child->is_sampled = parent->is_sampled;
    child->is_late = parent->is_late;
    child->is_lost = parent->is_lost;
    child->red_zone_start = parent->red_zone_start;
    child->red_zone_bytes = parent->red_zone_bytes;
    if (parent->ended != NULL && (child->ended = malloc(ENDED * sizeof *child->ended)) != NULL) {
        memcpy(child->ended, parent->ended, ENDED * sizeof *child->ended);
        child->n_ended = parent->n_ended;
    }
    if (parent->n_slots == 0)
        return;
    child->slots = make_slots(parent->n_slots);
    if (child->slots == NULL) {
        child->is_lost = true;
        return;
    }
    memcpy(child->slots, parent->slots, parent->n_slots * sizeof *child->slots);
    for (size_t i = 0; i < parent->n_slots; i++)
        child->slots[i].is_inherited = 1;
    child->n_slots = parent->n_slots;
    child->count = parent->count;
}

static void remember(struct heap *heap, const struct slot *slot, const struct slot *freed)
{
    if (slot->address - heap->red_zone_start >= heap->red_zone_bytes)
        return;
    if (heap->ended == NULL)
        heap->ended = malloc(ENDED * sizeof *heap->ended);
    if (heap->ended != NULL)
        heap->ended[heap->n_ended++ % ENDED] = (struct ended){*slot, freed->stack, freed->tid};
}

static void make_free(struct heap *heap, const struct slot *freed)
{
    struct slot *slot = find(heap, freed->address);
    if (slot == NULL || slot->time_ns > freed->time_ns) /* it is about a block that was there before */
        return;
    remember(heap, slot, freed);
    remove_slot(heap, slot);
}

/* NUMBER as a slot has it; 0, unknown, where it has no room. */
static uint32_t stack_of(uint64_t number)
{
    return number <= INT32_MAX ? (uint32_t)number & INT32_MAX : 0;
}

/* With the lock. */
static void make_changes(struct tg_live_blocks *live)
{
    size_t n_waiting = __atomic_load_n(&live->n_waiting, __ATOMIC_ACQUIRE);
    struct heap *heap = NULL;
    for (size_t i = live->n_made; i < n_waiting; i++) {
        const struct change *change = &live->waiting[i];
        if (heap == NULL || heap->pid != change->pid)
            heap = find_heap(live, change->pid);
        if (heap == NULL || heap->is_sampled)
            continue;
        if (i + AHEAD < n_waiting && heap->n_slots > 0)
            __builtin_prefetch(&heap->slots[place_of(live->waiting[i + AHEAD].block.address, heap->n_slots)],
                               1);
        if (change->is_free)
            make_free(heap, &change->block);
        else
            put(heap, &change->block);
    }
    live->n_made = n_waiting;
}

static void lock(struct tg_live_blocks *live)
{
    pthread_mutex_lock(&live->lock);
    make_changes(live);
}

static void unlock(struct tg_live_blocks *live)
{
    pthread_mutex_unlock(&live->lock);
}

static void add_change(struct tg_live_blocks *live, const struct tg_event *event)
{
    struct slot block = {.time_ns = event->time_ns, .tid = event->tid};
    if (live->n_waiting == WAITING) {
        lock(live);
        live->n_made = 0;
        __atomic_store_n(&live->n_waiting, 0, __ATOMIC_RELAXED);
        unlock(live);
    }
    if (event->kind == TG_EVENT_HEAP_ALLOC) {
        block.address = event->heap_alloc.address;
        block.size_bytes = event->heap_alloc.size_bytes;
        block.stack = stack_of(event->heap_alloc.stack);
    } else if (event->kind == TG_EVENT_HEAP_RESIZE) {
        block.address = event->heap_resize.address;
        block.size_bytes = event->heap_resize.size_bytes;
        block.stack = stack_of(event->heap_resize.stack);
    } else {
        block.address = event->heap_free.address;
        block.stack = stack_of(event->heap_free.stack);
    }
    live->waiting[live->n_waiting] = (struct change){block, event->pid, event->kind == TG_EVENT_HEAP_FREE};
    __atomic_store_n(&live->n_waiting, live->n_waiting + 1, __ATOMIC_RELEASE);
}

/* Events of PID, 0 of any process, were lost: what was freed is not known any more. */
static void lose(struct tg_live_blocks *live, pid_t pid)
{
    for (struct heap *heap = live->heaps; heap != NULL; heap = heap->hh.next)
        if (pid == 0 || heap->pid == pid) {
            heap->is_lost = true;
            drop_slots(heap);
        }
}

void tg_live_blocks_add(struct tg_live_blocks *live, const struct tg_event *event)
{
    switch ((unsigned)event->kind) {
    case TG_EVENT_HEAP_ALLOC:
    case TG_EVENT_HEAP_FREE:
    case TG_EVENT_HEAP_RESIZE:
        add_change(live, event);
        return;
    case TG_EVENT_HEAP_START:
    case TG_EVENT_PROCESS_START:
    case TG_EVENT_EXEC:
    case TG_EVENT_PROCESS_EXIT:
    case TG_EVENT_LOSS:
        break;
    default:
        return;
    }
    lock(live);
    if (event->kind == TG_EVENT_HEAP_START)
        start(live, event);
    else if (event->kind == TG_EVENT_PROCESS_START)
        start_process(live, event);
    else if (event->kind == TG_EVENT_EXEC || event->kind == TG_EVENT_PROCESS_EXIT)
        forget(live, find_heap(live, event->pid));
    else if (event->loss.source == TG_LOSS_RING)
        lose(live, event->pid);
    unlock(live);
}

bool tg_live_blocks_wants_search(struct tg_live_blocks *live, pid_t pid)
{
    lock(live);
    const struct heap *heap = find_heap(live, pid);
    bool wants = heap != NULL && !heap->is_sampled;
    unlock(live);
    return wants;
}

static struct tg_error *copy(const struct heap *heap, struct tg_leak_block **blocks, size_t *count)
{
    if (heap == NULL || heap->is_sampled)
        return tg_error_create(TG_ERROR_NOT_FOUND, heap == NULL ? "its heap is not observed"
                                                                : "only a sample of its blocks is known");
    if (heap->is_late || heap->is_lost)
        return tg_error_create(TG_ERROR_NOT_FOUND, heap->is_late ? "it has blocks from before the recording"
                                                                 : "events of its heap were lost");
    *blocks = malloc((heap->count + 1) * sizeof **blocks);
    if (*blocks == NULL)
        return tg_error_no_memory();
    for (size_t i = 0; i < heap->n_slots; i++)
        if (heap->slots[i].address != 0)
            (*blocks)[(*count)++] = (struct tg_leak_block){.address = heap->slots[i].address,
                                                           .size_bytes = heap->slots[i].size_bytes,
                                                           .stack = heap->slots[i].stack,
                                                           .is_inherited = heap->slots[i].is_inherited};
    return NULL;
}

struct tg_error *tg_live_blocks_copy(struct tg_live_blocks *live, pid_t pid, struct tg_leak_block **blocks,
                                     size_t *count)
{
    *blocks = NULL;
    *count = 0;
    lock(live);
    struct tg_error *error = copy(find_heap(live, pid), blocks, count);
    unlock(live);
    return error;
}

/* ---- accesses to pages that may not be touched */

/* How far ADDRESS is from the pages of BLOCK; 0: on them. */
static uint64_t distance(const struct slot *block, uint64_t address)
{
    uint64_t start = block->address & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t last = (block->address + (block->size_bytes > 0 ? block->size_bytes - 1 : 0)) | (PAGE_BYTES - 1);
    return address < start ? start - address : address > last ? address - last : 0;
}

static void take_nearest(const struct slot *block, uint64_t address, const struct ended *ended,
                         struct tg_red_zone_hit *hit, uint64_t *least)
{
    uint64_t is = distance(block, address);
    if (is >= *least)
        return;
    *least = is;
    *hit = (struct tg_red_zone_hit){.block = block->address,
                                    .size_bytes = block->size_bytes,
                                    .allocated_stack = block->stack,
                                    .allocated_tid = block->tid,
                                    .was_freed = ended != NULL,
                                    .freed_stack = ended != NULL ? ended->freed_stack : 0,
                                    .freed_tid = ended != NULL ? ended->freed_tid : 0};
}

/* On the pages of a block that was freed it is that one; elsewhere the block next to it, freed or not. */
static bool look_near(const struct heap *heap, uint64_t address, struct tg_red_zone_hit *hit)
{
    uint64_t least = PAGE_BYTES + 1; /* there is one page between two of them */
    if (heap == NULL || address - heap->red_zone_start >= heap->red_zone_bytes)
        return false;
    for (size_t i = 0; i < heap->n_slots; i++)
        if (heap->slots[i].address - heap->red_zone_start < heap->red_zone_bytes)
            take_nearest(&heap->slots[i], address, NULL, hit, &least);
    size_t n_kept = heap->n_ended < ENDED ? heap->n_ended : ENDED;
    for (size_t i = 1; i <= n_kept; i++) { /* the latest first */
        const struct ended *ended = &heap->ended[(heap->n_ended - i) % ENDED];
        take_nearest(&ended->block, address, ended, hit, &least);
    }
    return least <= PAGE_BYTES;
}

bool tg_live_blocks_have_red_zones(struct tg_live_blocks *live, pid_t pid)
{
    lock(live);
    const struct heap *heap = find_heap(live, pid);
    bool has = heap != NULL && heap->red_zone_bytes != 0;
    unlock(live);
    return has;
}

bool tg_live_blocks_near(struct tg_live_blocks *live, pid_t pid, uint64_t address,
                         struct tg_red_zone_hit *hit)
{
    lock(live);
    bool found = look_near(find_heap(live, pid), address, hit);
    unlock(live);
    return found;
}
