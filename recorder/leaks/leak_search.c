#include "recorder/leaks/leak_search.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "recorder/process/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_SHIFT = 12,
    GAP_BYTES = 1 << 20, /* between starts of blocks: another extent begins */
    BATCH_BLOCKS = 512,  /* read by one call */
    ROOM_BYTES = 1 << 20,
    NEAR_BYTES = 32,            /* between two blocks: both are read at once */
    DIGIT_BITS = 11,            /* of addresses, when blocks are sorted */
    SORTED_BY_DIGITS = 1 << 16, /* blocks, from so many on */
    PROBED_BYTES = 1 << 30,     /* blocks from this size on */
    HEADER_BYTES = 16, /* of what follows a block in glibc's heap; its first half may be the block's */
    WORD = sizeof(uint64_t),
    MARK_INTERIOR = 1, /* something that is reached points into it */
    MARK_REFERRED = 2, /* another block that is not reached points to it */
};

/* Blocks that follow each other closely: found by their page. */
struct extent {
    uint64_t base, end; /* start of the first block, end of the last */
    uint32_t first, count;
    uint32_t *pages; /* by page from the one of BASE: first block that starts in it or behind it */
    size_t n_pages;
};

enum phase { PHASE_REACHED, PHASE_INTERIOR, PHASE_REFERRED, PHASE_INDIRECT };

struct run {
    const struct tg_leak_search *search;
    struct tg_leak_block *blocks;
    size_t n_blocks;
    uint64_t lowest, span; /* of all blocks */
    struct extent *extents;
    size_t n_extents, extent_capacity;
    uint32_t *pages; /* of all extents */
    uint32_t *stack; /* blocks to be read */
    size_t n_stack;
    uint8_t *room;
    enum phase phase;
    bool is_allocators; /* the words are in libc's data */
    uint32_t owner;     /* block that the words are in, UINT32_MAX none */
    uint64_t searched_bytes, unread_bytes;
};

/* ---- which block an address is in */

static int compare_blocks(const void *a, const void *b)
{
    const struct tg_leak_block *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static uint64_t end_of(const struct tg_leak_block *block)
{
    uint64_t size = block->size_bytes > 0 ? block->size_bytes : 1;
    return size < UINT64_MAX - block->address ? block->address + size : UINT64_MAX;
}

static struct tg_error *find_extents(struct run *run, size_t *n_pages)
{
    struct tg_error *error = NULL;
    struct extent extent = {0};
    *n_pages = 0;
    for (size_t i = 0; i < run->n_blocks && error == NULL; i++) {
        const struct tg_leak_block *block = &run->blocks[i];
        if (extent.count == 0)
            extent = (struct extent){.base = block->address, .first = (uint32_t)i};
        extent.count++;
        if (end_of(block) > extent.end)
            extent.end = end_of(block);
        if (i + 1 < run->n_blocks && block[1].address - block->address <= GAP_BYTES)
            continue;
        extent.n_pages = (block->address >> PAGE_SHIFT) - (extent.base >> PAGE_SHIFT) + 1;
        *n_pages += extent.n_pages;
        error = TG_ARRAY_APPEND(run->extents, run->n_extents, run->extent_capacity, extent);
        extent.count = 0;
    }
    return error;
}

static void fill_pages(const struct run *run, struct extent *extent, uint32_t *pages)
{
    uint32_t at = extent->first, end = extent->first + extent->count;
    uint64_t page = extent->base >> PAGE_SHIFT;
    extent->pages = pages;
    for (size_t i = 0; i < extent->n_pages; i++, page++) {
        while (at < end && run->blocks[at].address >> PAGE_SHIFT < page)
            at++;
        pages[i] = at;
    }
}

/* Whether the process has memory at the end of BLOCK. */
static bool has_end(const struct run *run, const struct tg_leak_block *block)
{
    char byte;
    return end_of(block) != UINT64_MAX && tg_memory_read(run->search->tid, end_of(block) - 1, &byte, 1);
}

/* No block reaches into the next one, and of one that is larger than its memory the start is all that is known: sizes are
 * what the program asked for, which allocators have been seen to round beyond the largest number. */
static void limit_sizes(struct run *run)
{
    for (size_t i = 0; i < run->n_blocks; i++) {
        struct tg_leak_block *block = &run->blocks[i];
        if (i + 1 < run->n_blocks && end_of(block) > block[1].address)
            block->size_bytes = block[1].address - block->address;
        if (block->size_bytes >= PROBED_BYTES && !has_end(run, block))
            block->size_bytes = 0;
    }
}

/* Moves the COUNT blocks FROM to TO in the order of the digit of their addresses at SHIFT, those that are equal there as
 * they are. False: all are equal there, and nothing was moved. */
static bool sort_by_digit(const struct tg_leak_block *from, struct tg_leak_block *to, size_t count,
                          unsigned shift)
{
    enum { DIGITS = 1 << DIGIT_BITS };
    size_t starts[DIGITS] = {0}, at = 0;
    for (size_t i = 0; i < count; i++)
        starts[from[i].address >> shift & (DIGITS - 1)]++;
    if (starts[from[0].address >> shift & (DIGITS - 1)] == count)
        return false;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        size_t n = starts[digit];
        starts[digit] = at;
        at += n;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].address >> shift & (DIGITS - 1)]++] = from[i];
    return true;
}

/* Millions of blocks take a third of qsort's time. */
static void sort_blocks(struct tg_leak_block *blocks, size_t count)
{
    struct tg_leak_block *room = count < SORTED_BY_DIGITS ? NULL : malloc(count * sizeof *room);
    struct tg_leak_block *from = blocks, *to = room;
    if (room == NULL) {
        qsort(blocks, count, sizeof *blocks, compare_blocks);
        return;
    }
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
        if (sort_by_digit(from, to, count, shift)) {
            struct tg_leak_block *sorted = to;
            to = from;
            from = sorted;
        }
    if (from != blocks)
        memcpy(blocks, from, count * sizeof *blocks);
    free(room);
}

static struct tg_error *make_index(struct run *run)
{
    size_t n_pages;
    sort_blocks(run->blocks, run->n_blocks);
    limit_sizes(run);
    struct tg_error *error = find_extents(run, &n_pages);
    if (error != NULL)
        return error;
    run->pages = malloc((n_pages + 1) * sizeof *run->pages);
    run->stack = malloc((run->n_blocks + 1) * sizeof *run->stack);
    run->room = malloc(ROOM_BYTES + (size_t)BATCH_BLOCKS * NEAR_BYTES);
    if (run->pages == NULL || run->stack == NULL || run->room == NULL)
        return tg_error_no_memory();
    n_pages = 0;
    for (size_t i = 0; i < run->n_extents; i++) {
        fill_pages(run, &run->extents[i], run->pages + n_pages);
        n_pages += run->extents[i].n_pages;
    }
    if (run->n_extents > 0) {
        run->lowest = run->extents[0].base;
        run->span = run->extents[run->n_extents - 1].end - run->lowest;
    }
    return NULL;
}

/* The last one that starts at ADDRESS or below, NULL none. */
static const struct extent *find_extent(const struct run *run, uint64_t address)
{
    size_t above = TG_UPPER_BOUND(run->extents, run->n_extents, base, address);
    return above > 0 ? &run->extents[above - 1] : NULL;
}

/* First block from AT on, below END, that starts behind ADDRESS. */
static uint32_t behind(const struct run *run, uint32_t at, uint32_t end, uint64_t address)
{
    while (at < end) {
        uint32_t middle = at + (end - at) / 2;
        if (run->blocks[middle].address <= address)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* The block that ADDRESS is in, NULL none. */
static struct tg_leak_block *find_block(const struct run *run, uint64_t address)
{
    const struct extent *extent = find_extent(run, address);
    if (extent == NULL || address >= extent->end)
        return NULL;
    size_t page = (address >> PAGE_SHIFT) - (extent->base >> PAGE_SHIFT);
    uint32_t end = extent->first + extent->count, at = end;
    if (page < extent->n_pages)
        at = behind(run, extent->pages[page], page + 1 < extent->n_pages ? extent->pages[page + 1] : end,
                    address);
    if (at == extent->first)
        return NULL;
    struct tg_leak_block *block = &run->blocks[at - 1];
    return address < end_of(block) ? block : NULL;
}

/* ---- words */

static void push(struct run *run, struct tg_leak_block *block, enum tg_leak_state state)
{
    block->state = (uint8_t)state;
    run->stack[run->n_stack++] = (uint32_t)(block - run->blocks);
}

static void meet(struct run *run, uint64_t word)
{
    struct tg_leak_block *block = find_block(run, word);
    if (block == NULL || block->state != TG_LEAK_UNSEEN)
        return;
    switch (run->phase) {
    case PHASE_REACHED:
        if (word == block->address)
            push(run, block, TG_LEAK_REACHED);
        else if (!run->is_allocators || end_of(block) - word > HEADER_BYTES / 2 || word % HEADER_BYTES != 0)
            block->marks |= MARK_INTERIOR;
        return;
    case PHASE_INTERIOR:
        push(run, block, TG_LEAK_INTERIOR);
        return;
    case PHASE_REFERRED:
        if ((size_t)(block - run->blocks) != run->owner)
            block->marks |= MARK_REFERRED;
        return;
    case PHASE_INDIRECT:
        push(run, block, TG_LEAK_INDIRECT);
        return;
    }
}

static void meet_words(struct run *run, const uint64_t *words, size_t count)
{
    uint64_t lowest = run->lowest, span = run->span;
    for (size_t i = 0; i < count; i++)
        if (words[i] - lowest < span)
            meet(run, words[i]);
    run->searched_bytes += count * WORD;
}

/* Memory that begins and ends at multiples of eight, by pieces. */
static void search_memory(struct run *run, uint64_t address, uint64_t end)
{
    address = (address + WORD - 1) & -(uint64_t)WORD;
    end &= -(uint64_t)WORD;
    while (address < end) {
        size_t size = end - address < ROOM_BYTES ? (size_t)(end - address) : ROOM_BYTES;
        size_t got = tg_memory_read_some(run->search->tid, address, run->room, size);
        meet_words(run, (const uint64_t *)(const void *)run->room, got / WORD);
        address += got;
        if (got == size)
            continue;
        uint64_t next = (address | ((1 << PAGE_SHIFT) - 1)) + 1; /* behind a page that cannot be read */
        run->unread_bytes += (next < end ? next : end) - address;
        address = next;
    }
}

/* ---- blocks */

/* The words of BLOCK, in the room from AT on. */
struct piece {
    uint64_t start;
    size_t at, size;
};

static struct piece piece_of(const struct tg_leak_block *block)
{
    uint64_t start = (block->address + WORD - 1) & -(uint64_t)WORD;
    uint64_t end = (block->address + block->size_bytes) & -(uint64_t)WORD;
    return (struct piece){.start = start, .size = end > start ? (size_t)(end - start) : 0};
}

/* Places COUNT pieces in the room, those that are near each other with what is between them; the number of RANGES to be read,
 * of which PIECES_OF tells how many pieces each has. */
static size_t place_pieces(const struct run *run, struct piece *pieces, size_t count,
                           struct tg_memory_range *ranges, size_t *pieces_of)
{
    size_t n_ranges = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = i == 0 ? 0 : pieces[i - 1].start + pieces[i - 1].size;
        bool is_near = i > 0 && pieces[i].start >= end && pieces[i].start - end <= NEAR_BYTES;
        if (is_near) {
            size_t gap = (size_t)(pieces[i].start - end);
            ranges[n_ranges - 1].size += gap + pieces[i].size;
            at += gap;
            pieces_of[n_ranges - 1]++;
        } else {
            ranges[n_ranges] = (struct tg_memory_range){pieces[i].start, run->room + at, pieces[i].size};
            pieces_of[n_ranges++] = 1;
        }
        pieces[i].at = at;
        at += pieces[i].size;
    }
    return n_ranges;
}

static void meet_piece(struct run *run, uint32_t block, const struct piece *piece)
{
    run->owner = block;
    meet_words(run, (const uint64_t *)(const void *)(run->room + piece->at), piece->size / WORD);
}

/* Pieces of a range that cannot be read as a whole. */
static void search_singly(struct run *run, const uint32_t *blocks, const struct piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (tg_memory_read(run->search->tid, pieces[i].start, run->room + pieces[i].at, pieces[i].size))
            meet_piece(run, blocks[i], &pieces[i]);
        else
            run->unread_bytes += pieces[i].size;
}

/* COUNT blocks, which fit into the room together. */
static void search_batch(struct run *run, const uint32_t *batch, size_t count)
{
    struct tg_memory_range ranges[BATCH_BLOCKS];
    struct piece pieces[BATCH_BLOCKS];
    size_t pieces_of[BATCH_BLOCKS], done = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        pieces[i] = piece_of(&run->blocks[batch[i]]);
    size_t n_ranges = place_pieces(run, pieces, count, ranges, pieces_of);
    while (done < n_ranges) {
        size_t got = tg_memory_read_ranges(run->search->tid, ranges + done, n_ranges - done);
        for (size_t end = done + got; done < end; done++)
            for (size_t i = 0; i < pieces_of[done]; i++, at++)
                meet_piece(run, batch[at], &pieces[at]);
        if (done < n_ranges) {
            search_singly(run, batch + at, pieces + at, pieces_of[done]);
            at += pieces_of[done++];
        }
    }
    run->owner = UINT32_MAX;
}

/* Blocks that were met in the order of their addresses come from the stack the other way round. */
static void put_in_order(uint32_t *batch, size_t count)
{
    if (count == 0 || batch[0] <= batch[count - 1])
        return;
    for (size_t i = 0, k = count - 1; i < k; i++, k--) {
        uint32_t block = batch[i];
        batch[i] = batch[k];
        batch[k] = block;
    }
}

/* What the stack holds, and what that leads to. */
static void search_stack(struct run *run)
{
    uint32_t batch[BATCH_BLOCKS];
    while (run->n_stack > 0) {
        size_t count = 0;
        uint64_t bytes = 0;
        while (run->n_stack > 0 && count < BATCH_BLOCKS) {
            uint32_t next = run->stack[run->n_stack - 1];
            uint64_t size = run->blocks[next].size_bytes;
            if (size > ROOM_BYTES - bytes)
                break;
            bytes += size;
            run->n_stack--;
            if (size >= WORD)
                batch[count++] = next;
        }
        if (count > 0) {
            put_in_order(batch, count);
            search_batch(run, batch, count);
        } else if (run->n_stack > 0) {
            run->owner = run->stack[--run->n_stack];
            const struct tg_leak_block *block = &run->blocks[run->owner];
            if (block->size_bytes >= WORD)
                search_memory(run, block->address, end_of(block));
            run->owner = UINT32_MAX;
        }
    }
}

/* ---- phases */

/* A root without the blocks in it. */
static void search_root(struct run *run, const struct tg_leak_root *root)
{
    uint64_t at = root->address, end = root->address + root->size_bytes;
    run->is_allocators = root->is_allocators;
    uint32_t next = behind(run, 0, (uint32_t)run->n_blocks, at);
    if (next > 0 && end_of(&run->blocks[next - 1]) > at)
        at = end_of(&run->blocks[next - 1]);
    for (; next < run->n_blocks && run->blocks[next].address < end; next++) {
        if (run->blocks[next].address > at)
            search_memory(run, at, run->blocks[next].address);
        if (end_of(&run->blocks[next]) > at)
            at = end_of(&run->blocks[next]);
    }
    if (at < end)
        search_memory(run, at, end);
}

static void find_reached(struct run *run)
{
    run->phase = PHASE_REACHED;
    meet_words(run, run->search->words, run->search->n_words);
    for (size_t i = 0; i < run->search->n_roots; i++)
        search_root(run, &run->search->roots[i]);
    run->is_allocators = false;
    search_stack(run);
}

static void find_interior(struct run *run)
{
    run->phase = PHASE_INTERIOR;
    for (size_t i = 0; i < run->n_blocks; i++)
        if (run->blocks[i].state == TG_LEAK_UNSEEN && (run->blocks[i].marks & MARK_INTERIOR) != 0)
            push(run, &run->blocks[i], TG_LEAK_INTERIOR);
    search_stack(run);
}

/* Finds the unreachable blocks that other unreachable blocks refer to. */
static void find_referred(struct run *run)
{
    run->phase = PHASE_REFERRED;
    for (size_t i = run->n_blocks; i-- > 0;)
        if (run->blocks[i].state == TG_LEAK_UNSEEN)
            run->stack[run->n_stack++] = (uint32_t)i;
    search_stack(run);
}

static void find_lost(struct run *run)
{
    find_referred(run);
    run->phase = PHASE_INDIRECT;
    bool any_referred = false;
    for (size_t i = 0; i < run->n_blocks; i++)
        any_referred |= run->blocks[i].state == TG_LEAK_UNSEEN && (run->blocks[i].marks & MARK_REFERRED) != 0;
    for (size_t i = run->n_blocks; i-- > 0;) /* blocks are read in the order of their addresses */
        if (run->blocks[i].state == TG_LEAK_UNSEEN && (run->blocks[i].marks & MARK_REFERRED) == 0)
            push(run, &run->blocks[i], TG_LEAK_LOST);
    if (!any_referred)
        run->n_stack = 0;
    search_stack(run);
    for (size_t i = 0; i < run->n_blocks; i++) /* circles: one of each is what was lost */
        if (run->blocks[i].state == TG_LEAK_UNSEEN) {
            push(run, &run->blocks[i], TG_LEAK_LOST);
            search_stack(run);
        }
}

struct tg_error *tg_leak_search_run(const struct tg_leak_search *search, struct tg_leak_found *found)
{
    struct run run = {
        .search = search, .blocks = search->blocks, .n_blocks = search->n_blocks, .owner = UINT32_MAX};
    for (size_t i = 0; i < run.n_blocks; i++)
        run.blocks[i].state = run.blocks[i].marks = 0;
    struct tg_error *error = make_index(&run);
    if (error == NULL) {
        find_reached(&run);
        find_interior(&run);
        find_lost(&run);
        *found = (struct tg_leak_found){run.searched_bytes, run.unread_bytes};
    }
    free(run.extents);
    free(run.pages);
    free(run.stack);
    free(run.room);
    return error;
}
