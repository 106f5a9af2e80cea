#include "recorder/rings/event_merge.h"

#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/agent/contract.h"

/* Records of one ring as they were taken together. */
struct block {
    struct block *next;
    size_t n_words, max_words;
    uint64_t words[];
};

enum {
    MAX_SPARES = 64,
    SPARE_WORDS = 1 << 15,
    AHEAD_WORDS = 64, /* before its turn a record is asked for: it was copied long ago */
};

struct tg_merge_ring {
    void *source;
    struct block *first, *last; /* NULL: holds nothing */
    size_t at;                  /* word in FIRST where the next record begins */
    uint64_t last_ticks;        /* the latest ones of the records that it holds, or held since it was empty */
    size_t place;               /* in all_rings */
};

/* A ring whose next record is of TICKS. */
struct turn {
    uint64_t ticks;
    struct tg_merge_ring *ring;
};

struct tg_event_merge {
    const struct tg_tick_clock *clock;
    struct tg_event_queue *queue;
    struct tg_merge_sink sink;
    struct turn *heap; /* of the rings that hold something, the earliest one first */
    size_t n_heap;
    struct tg_merge_ring **all_rings;
    size_t n_rings, max_rings; /* heap has room for as many */
    uint64_t last_ns;          /* of what was told */
    struct tg_merge_stats stats;
    struct block *room;
    struct block *spares; /* large ones that were told: new memory costs more than what is put into it */
    size_t n_spares;
};

/* ---- blocks */

static void free_blocks(struct block *block)
{
    while (block != NULL) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
}

static struct block *make_block(struct tg_event_merge *merge, size_t n_words)
{
    struct block *block = merge->spares;
    if (n_words <= SPARE_WORDS / 2 || n_words > SPARE_WORDS || block == NULL) {
        size_t max_words = n_words > SPARE_WORDS / 2 && n_words <= SPARE_WORDS ? SPARE_WORDS : n_words;
        block = malloc(sizeof *block + max_words * sizeof block->words[0]);
        if (block != NULL)
            block->max_words = max_words;
    } else {
        merge->spares = block->next;
        merge->n_spares--;
    }
    if (block != NULL) {
        block->next = NULL;
        block->n_words = n_words;
    }
    return block;
}

static void end_block(struct tg_event_merge *merge, struct block *block)
{
    if (block->max_words != SPARE_WORDS || merge->n_spares == MAX_SPARES) {
        free(block);
        return;
    }
    block->next = merge->spares;
    merge->spares = block;
    merge->n_spares++;
}

/* ---- life */

struct tg_error *tg_event_merge_create(const struct tg_tick_clock *clock, struct tg_event_queue *queue,
                                       const struct tg_merge_sink *sink, struct tg_event_merge **merge)
{
    struct tg_event_merge *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->clock = clock;
    made->queue = queue;
    made->sink = *sink;
    made->room = make_block(made, SPARE_WORDS);
    if (made->room == NULL) {
        free(made);
        return tg_error_no_memory();
    }
    *merge = made;
    return NULL;
}

static void free_ring(struct tg_merge_ring *ring)
{
    free_blocks(ring->first);
    free(ring);
}

void tg_event_merge_destroy(struct tg_event_merge *merge)
{
    if (merge == NULL)
        return;
    for (size_t i = 0; i < merge->n_rings; i++)
        free_ring(merge->all_rings[i]);
    free_blocks(merge->spares);
    free(merge->room);
    free(merge->all_rings);
    free(merge->heap);
    free(merge);
}

static bool reserve_ring(struct tg_event_merge *merge)
{
    size_t heap_capacity = merge->max_rings, needed = merge->n_rings + 1;
    return TG_ARRAY_RESERVE(merge->heap, heap_capacity, needed) == NULL &&
           TG_ARRAY_RESERVE(merge->all_rings, merge->max_rings, needed) == NULL;
}

struct tg_error *tg_event_merge_add_ring(struct tg_event_merge *merge, void *source,
                                         struct tg_merge_ring **ring)
{
    struct tg_merge_ring *made = reserve_ring(merge) ? calloc(1, sizeof *made) : NULL;
    if (made == NULL)
        return tg_error_no_memory();
    made->source = source;
    made->place = merge->n_rings;
    merge->all_rings[merge->n_rings++] = made;
    *ring = made;
    return NULL;
}

void tg_event_merge_remove_ring(struct tg_event_merge *merge, struct tg_merge_ring *ring)
{
    struct tg_merge_ring *last = merge->all_rings[--merge->n_rings];
    merge->all_rings[ring->place] = last;
    last->place = ring->place;
    free_ring(ring);
}

bool tg_merge_ring_is_empty(const struct tg_merge_ring *ring)
{
    return ring->first == NULL;
}

/* ---- the heap */

static void sift_down(struct tg_event_merge *merge, size_t i)
{
    const struct turn turn = merge->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= merge->n_heap)
            break;
        if (child + 1 < merge->n_heap && merge->heap[child + 1].ticks < merge->heap[child].ticks)
            child++;
        if (turn.ticks <= merge->heap[child].ticks)
            break;
        merge->heap[i] = merge->heap[child];
        i = child;
    }
    merge->heap[i] = turn;
}

static void push(struct tg_event_merge *merge, struct tg_merge_ring *ring, uint64_t ticks)
{
    size_t i = merge->n_heap++;
    while (i > 0 && ticks < merge->heap[(i - 1) / 2].ticks) {
        merge->heap[i] = merge->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    merge->heap[i] = (struct turn){.ticks = ticks, .ring = ring};
}

static void pop(struct tg_event_merge *merge)
{
    merge->heap[0] = merge->heap[--merge->n_heap];
    if (merge->n_heap > 0)
        sift_down(merge, 0);
}

/* ---- in */

static size_t words_of(const uint64_t *record)
{
    return record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff;
}

uint64_t *tg_event_merge_room(struct tg_event_merge *merge, size_t *size)
{
    *size = SPARE_WORDS * sizeof(uint64_t);
    return merge->room->words;
}

/* A block with RECORDS; NULL without memory. */
static struct block *take_over(struct tg_event_merge *merge, const uint64_t *records, size_t n_words)
{
    bool fills_room = records == merge->room->words && n_words > SPARE_WORDS / 2;
    struct block *block = make_block(merge, fills_room ? SPARE_WORDS : n_words);
    if (block != NULL && fills_room) {
        struct block *filled = merge->room;
        filled->n_words = n_words;
        merge->room = block;
        return filled;
    }
    if (block != NULL)
        memcpy(block->words, records, n_words * sizeof *records);
    return block;
}

struct tg_error *tg_event_merge_add(struct tg_event_merge *merge, struct tg_merge_ring *ring,
                                    const uint64_t *records, size_t size, uint64_t last_ticks)
{
    if (size == 0)
        return NULL;
    struct block *block = take_over(merge, records, size / sizeof *records);
    if (block == NULL)
        return tg_error_no_memory();
    if (ring->first == NULL)
        ring->last_ticks = 0;
    ring->last_ticks = last_ticks > ring->last_ticks ? last_ticks : ring->last_ticks;
    merge->stats.held_bytes += size;
    if (ring->first != NULL) {
        ring->last->next = block;
        ring->last = block;
        return NULL;
    }
    ring->first = ring->last = block;
    ring->at = 0;
    push(merge, ring, block->words[0]);
    return NULL;
}

uint64_t tg_event_merge_last_ns(const struct tg_event_merge *merge, const struct tg_merge_ring *ring)
{
    return ring->first == NULL ? 0 : tg_tick_clock_time(merge->clock, ring->last_ticks);
}

void tg_event_merge_visit(const struct tg_event_merge *merge, const struct tg_merge_ring *ring,
                          uint64_t since_ns,
                          void (*record)(void *context, uint64_t time_ns, const uint64_t *record),
                          void *context)
{
    size_t at = ring->at;
    for (const struct block *block = ring->first; block != NULL; block = block->next, at = 0)
        for (; at < block->n_words; at += words_of(block->words + at)) {
            uint64_t time_ns = tg_tick_clock_time(merge->clock, block->words[at]);
            if (time_ns >= since_ns)
                record(context, time_ns, block->words + at);
        }
}

/* ---- out */

/* Drops the record of TURN, which was told; false where its ring holds no other one. */
static bool advance(struct tg_event_merge *merge, struct turn *turn, size_t n_words)
{
    struct tg_merge_ring *ring = turn->ring;
    ring->at += n_words;
    merge->stats.held_bytes -= n_words * sizeof(uint64_t);
    if (ring->at >= ring->first->n_words) {
        struct block *done = ring->first;
        ring->first = done->next;
        ring->at = 0;
        end_block(merge, done);
        if (ring->first == NULL)
            return false;
    }
    turn->ticks = ring->first->words[ring->at];
    return true;
}

static void see_time(struct tg_event_merge *merge, uint64_t time_ns)
{
    if (time_ns < merge->last_ns)
        merge->stats.out_of_order++;
    else
        merge->last_ns = time_ns;
}

/* Returns the time of the first event that is left, UINT64_MAX where there is none. */
static uint64_t tell_events(struct tg_event_merge *merge, uint64_t until_ns)
{
    const struct tg_event *event;
    while (merge->queue != NULL && (event = tg_event_queue_first(merge->queue)) != NULL) {
        if (event->time_ns > until_ns)
            return event->time_ns;
        see_time(merge, event->time_ns);
        merge->stats.events++;
        merge->sink.event(merge->sink.context, event);
        tg_event_queue_pop(merge->queue);
    }
    return UINT64_MAX;
}

/* Ticks up to which the first ring of the heap may be told without a look at the others. */
static uint64_t turn_ends(const struct tg_event_merge *merge, uint64_t until_ticks)
{
    for (size_t i = 1; i < 3 && i < merge->n_heap; i++)
        if (merge->heap[i].ticks < until_ticks)
            until_ticks = merge->heap[i].ticks;
    return until_ticks;
}

/* Ticks up to which records may be told. Several ticks are one nanosecond, and some may be beyond the clock's last
 * pair: whatever they are, the first record of all is told if its time has come, or telling would not go on. */
static uint64_t ticks_until(const struct tg_event_merge *merge, uint64_t until_ns)
{
    uint64_t ticks = until_ns == UINT64_MAX ? UINT64_MAX : tg_tick_clock_ticks(merge->clock, until_ns);
    if (merge->n_heap > 0 && merge->heap[0].ticks > ticks &&
        tg_tick_clock_time(merge->clock, merge->heap[0].ticks) <= until_ns)
        return merge->heap[0].ticks;
    return ticks;
}

/* As tg_tick_clock_time; LINE is that of the ticks before. */
static uint64_t time_of(const struct tg_event_merge *merge, struct tg_tick_line *line, uint64_t ticks)
{
    if (!tg_tick_line_has(line, ticks))
        *line = tg_tick_clock_line(merge->clock, ticks);
    return tg_tick_line_has(line, ticks) ? tg_tick_line_time(line, ticks)
                                         : tg_tick_clock_time(merge->clock, ticks);
}

/* The first ring's first record was told, and N_WORDS in all. */
static void go_on(struct tg_event_merge *merge, size_t n_words)
{
    if (advance(merge, &merge->heap[0], n_words))
        sift_down(merge, 0);
    else
        pop(merge);
}

static bool is_over(const struct tg_event_merge *merge, uint64_t until_ticks)
{
    return merge->n_heap == 0 || merge->heap[0].ticks > until_ticks;
}

/* RUN becomes what follows in the first ring; false where its first record repeats none. */
static bool begin_run(const struct tg_event_merge *merge, struct tg_merge_run *run)
{
    const struct tg_merge_ring *ring = merge->heap[0].ring;
    const struct block *block = ring->first;
    size_t left = block->n_words - ring->at;
    run->n_told = run->n_told_words = 0;
    run->records = block->words + ring->at;
    run->n_words =
        left / TG_AGENT_AGAIN_WORDS < run->max_records ? left : run->max_records * TG_AGENT_AGAIN_WORDS;
    run->source = ring->source;
    run->end_ticks = turn_ends(merge, run->until_ticks);
    return (run->records[1] & 0xff) == TG_RECORD_AGAIN;
}

/* What of RUN was told is behind. */
static void end_run(struct tg_event_merge *merge, struct tg_merge_run *run)
{
    if (run->n_told == 0)
        return;
    merge->last_ns = run->last_ns;
    merge->stats.records += run->n_told;
    run->max_records -= run->n_told;
    go_on(merge, run->n_told_words);
    run->n_told = run->n_words = 0;
}

bool tg_merge_run_turn(struct tg_merge_run *run)
{
    struct tg_event_merge *merge = run->merge;
    if (run->n_told == 0)
        return false;
    end_run(merge, run);
    return !run->is_refused && run->max_records > 0 && !is_over(merge, run->until_ticks) &&
           begin_run(merge, run);
}

/* Tells the first record of all by itself. */
static void tell_one(struct tg_event_merge *merge, uint64_t time_ns)
{
    struct tg_merge_ring *ring = merge->heap[0].ring;
    uint64_t *record = ring->first->words + ring->at;
    size_t n_words = words_of(record);
    __builtin_prefetch(record + AHEAD_WORDS);
    see_time(merge, time_ns);
    merge->stats.records++;
    merge->sink.record(merge->sink.context, ring->source, time_ns, record);
    go_on(merge, n_words);
}

/* Offers what may be told at once; false where nothing was. */
static bool tell_run(struct tg_event_merge *merge, struct tg_merge_run *run)
{
    uint64_t told = merge->stats.records;
    run->last_ns = merge->last_ns;
    if (merge->sink.run == NULL || !begin_run(merge, run))
        return false;
    merge->sink.run(merge->sink.context, run);
    end_run(merge, run);
    return merge->stats.records > told;
}

bool tg_event_merge_tell(struct tg_event_merge *merge, uint64_t until_ns, uint64_t max_records)
{
    struct tg_merge_run run = {
        .merge = merge, .until_ticks = ticks_until(merge, until_ns), .max_records = max_records};
    while (!is_over(merge, run.until_ticks)) {
        if (run.max_records == 0)
            return false;
        uint64_t time_ns = time_of(merge, &run.line, merge->heap[0].ticks);
        if (time_ns >= run.end_ns) /* 0 is not known yet */
            run.end_ns = tell_events(merge, time_ns);
        bool is_refused = run.is_refused && merge->heap[0].ring->source == run.source;
        run.is_refused = false;
        if (is_refused || !tell_run(merge, &run)) {
            tell_one(merge, time_ns);
            run.max_records--;
        }
    }
    tell_events(merge, until_ns);
    return true;
}

uint64_t tg_event_merge_told_ns(const struct tg_event_merge *merge)
{
    return merge->last_ns;
}

struct tg_merge_stats tg_event_merge_stats(const struct tg_event_merge *merge)
{
    return merge->stats;
}
