#include "recorder/leaks/live_blocks.h"

#include "format/base/hash.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENDED = 1 << 15,
    PAGE_BYTES = 4096,
    WAITING = 512,
    AHEAD = 16, /* of those that wait: so many before its turn the place of one is asked for */
};

/* A block with red zones that was freed. */
struct ended {
    struct tg_block_slot block;
    uint32_t freed_stack;
    int32_t freed_tid;
};

struct heap {
    pid_t pid;
    bool is_sampled, is_late, is_lost;
    struct tg_block_slots slots;
    uint64_t red_zone_start, red_zone_bytes; /* where blocks with red zones are */
    struct ended *ended;                     /* a ring of the latest of these; NULL: none yet */
    size_t n_ended;                          /* blocks that have ended so far */
    UT_hash_handle hh;
};

struct facts {
    bool is_known, is_sampled, is_late, is_lost;
};

/* A block that was given out, resized or freed. */
struct change {
    struct tg_block_slot block;
    pid_t pid;
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
    tg_block_slots_deinit(&heap->slots);
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
    if (!tg_block_slots_copy(&parent->slots, &child->slots)) {
        child->is_lost = true;
        return;
    }
    for (size_t i = 0; i < child->slots.n_items; i++)
        child->slots.items[i].is_inherited = 1;
}

static void put(struct heap *heap, const struct tg_block_slot *block)
{
    if (heap->is_lost || block->address == 0 || tg_block_slots_put(&heap->slots, block))
        return;
    heap->is_lost = true;
    tg_block_slots_deinit(&heap->slots);
}

static void remember(struct heap *heap, const struct tg_block_slot *slot, const struct tg_block_slot *freed)
{
    if (slot->address - heap->red_zone_start >= heap->red_zone_bytes)
        return;
    if (heap->ended == NULL)
        heap->ended = malloc(ENDED * sizeof *heap->ended);
    if (heap->ended != NULL)
        heap->ended[heap->n_ended++ % ENDED] = (struct ended){*slot, freed->stack, freed->tid};
}

static void make_free(struct heap *heap, const struct tg_block_slot *freed)
{
    struct tg_block_slot *slot = tg_block_slots_find(&heap->slots, freed->address);
    if (slot == NULL || slot->time_ns > freed->time_ns) /* FREED is about a block that was there before */
        return;
    remember(heap, slot, freed);
    tg_block_slots_remove(&heap->slots, slot);
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
        if (i + AHEAD < n_waiting)
            tg_block_slots_prefetch(&heap->slots, live->waiting[i + AHEAD].block.address);
        if (change->block.is_freed)
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
    if (live->n_waiting == WAITING) {
        lock(live);
        live->n_made = 0;
        __atomic_store_n(&live->n_waiting, 0, __ATOMIC_RELAXED);
        unlock(live);
    }
    tg_block_slot_fill(&live->waiting[live->n_waiting].block, event);
    live->waiting[live->n_waiting].pid = event->pid;
    __atomic_store_n(&live->n_waiting, live->n_waiting + 1, __ATOMIC_RELEASE);
}

/* Events of PID, 0 of any process, were lost: what was freed is not known any more. */
static void lose(struct tg_live_blocks *live, pid_t pid)
{
    for (struct heap *heap = live->heaps; heap != NULL; heap = heap->hh.next)
        if (pid == 0 || heap->pid == pid) {
            heap->is_lost = true;
            tg_block_slots_deinit(&heap->slots);
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

/* What HEAP, NULL where there is none, is with what AHEAD, NULL or not, says of it. */
static struct facts facts_of(const struct heap *heap, const struct tg_live_ahead *ahead)
{
    struct facts facts = {0};
    if (ahead != NULL && ahead->has_start)
        facts = (struct facts){.is_known = true, .is_sampled = ahead->is_sampled, .is_late = ahead->is_late};
    else if (heap != NULL)
        facts = (struct facts){true, heap->is_sampled, heap->is_late, heap->is_lost};
    facts.is_lost = facts.is_lost || (ahead != NULL && ahead->is_lost);
    return facts;
}

bool tg_live_blocks_wants_search(struct tg_live_blocks *live, pid_t pid, const struct tg_live_ahead *ahead)
{
    lock(live);
    const struct facts facts = facts_of(find_heap(live, pid), ahead);
    unlock(live);
    return facts.is_known && !facts.is_sampled;
}

static struct tg_error *find_problem(const struct facts *facts)
{
    if (!facts->is_known)
        return tg_error_create(TG_ERROR_NOT_FOUND, "its heap is not observed");
    if (facts->is_sampled)
        return tg_error_create(TG_ERROR_NOT_FOUND, "only a sample of its blocks is known");
    if (facts->is_late)
        return tg_error_create(TG_ERROR_NOT_FOUND, "it has blocks from before the recording");
    if (facts->is_lost)
        return tg_error_create(TG_ERROR_NOT_FOUND, "events of its heap were lost");
    return NULL;
}

static int compare_places(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Blocks in the slots [FROM, TO). */
static void copy_slots(const struct tg_block_slots *slots, size_t from, size_t to,
                       struct tg_leak_block *blocks, size_t *n_blocks)
{
    for (size_t i = from; i < to; i++) {
        const struct tg_block_slot *slot = &slots->items[i];
        if (slot->address != 0 && !slot->is_freed)
            blocks[(*n_blocks)++] = (struct tg_leak_block){.address = slot->address,
                                                           .size_bytes = slot->size_bytes,
                                                           .stack = slot->stack,
                                                           .is_inherited = slot->is_inherited};
    }
}

/* What SLOTS has and AHEAD leaves, then what AHEAD has itself. PLACES is room for as many as AHEAD knows. */
static void copy_both(const struct tg_block_slots *slots, const struct tg_block_slots *ahead, size_t *places,
                      struct tg_leak_block *blocks, size_t *n_blocks)
{
    size_t n_places = 0, at = 0;
    for (size_t i = 0; i < ahead->n_items; i++) {
        const struct tg_block_slot *known = tg_block_slots_find(slots, ahead->items[i].address);
        if (known != NULL && (!ahead->items[i].is_freed || known->time_ns <= ahead->items[i].time_ns))
            places[n_places++] = (size_t)(known - slots->items);
    }
    if (n_places > 0)
        qsort(places, n_places, sizeof places[0], compare_places);
    for (size_t i = 0; i < n_places; i++) {
        copy_slots(slots, at, places[i], blocks, n_blocks);
        at = places[i] + 1;
    }
    copy_slots(slots, at, slots->n_items, blocks, n_blocks);
    copy_slots(ahead, 0, ahead->n_items, blocks, n_blocks);
}

static struct tg_error *copy(const struct heap *heap, const struct tg_live_ahead *ahead,
                             struct tg_leak_block **blocks, size_t *count)
{
    static const struct tg_block_slots none;
    const struct facts facts = facts_of(heap, ahead);
    const struct tg_block_slots *slots =
        heap == NULL || (ahead != NULL && ahead->has_start) ? &none : &heap->slots;
    const struct tg_block_slots *later = ahead != NULL ? &ahead->blocks : &none;
    struct tg_error *error = find_problem(&facts);
    if (error != NULL)
        return error;
    size_t *places = malloc((later->count + 1) * sizeof *places);
    *blocks = malloc((slots->count + later->count + 1) * sizeof **blocks);
    if (places == NULL || *blocks == NULL) {
        free(places);
        free(*blocks);
        *blocks = NULL;
        return tg_error_no_memory();
    }
    copy_both(slots, later, places, *blocks, count);
    free(places);
    return NULL;
}

struct tg_error *tg_live_blocks_copy(struct tg_live_blocks *live, pid_t pid,
                                     const struct tg_live_ahead *ahead, struct tg_leak_block **blocks,
                                     size_t *count)
{
    *blocks = NULL;
    *count = 0;
    lock(live);
    struct tg_error *error = copy(find_heap(live, pid), ahead, blocks, count);
    unlock(live);
    return error;
}

/* ---- accesses to pages that may not be touched */

/* How far ADDRESS is from the pages of BLOCK; 0: on them. */
static uint64_t distance(const struct tg_block_slot *block, uint64_t address)
{
    uint64_t start = block->address & ~(uint64_t)(PAGE_BYTES - 1);
    uint64_t last = (block->address + (block->size_bytes > 0 ? block->size_bytes - 1 : 0)) | (PAGE_BYTES - 1);
    return address < start ? start - address : address > last ? address - last : 0;
}

static void take_nearest(const struct tg_block_slot *block, uint64_t address, const struct ended *ended,
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
    for (size_t i = 0; i < heap->slots.n_items; i++)
        if (heap->slots.items[i].address - heap->red_zone_start < heap->red_zone_bytes)
            take_nearest(&heap->slots.items[i], address, NULL, hit, &least);
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
