/* check: blocks with guards around them, painted, and kept for a while when they are freed; every mistake with them is
 * recorded with the stacks where the block was allocated and freed. What the program does wrong ends as it would have
 * without: the allocator gets it after it was recorded.
 *
 * What is sure is said: an address that is in no table is called wrong only where it cannot be a block of an allocator
 * that is not observed. */
#ifndef TG_RECORDER_AGENT_HEAP_CHECK_H
#define TG_RECORDER_AGENT_HEAP_CHECK_H

#include "recorder/agent/heap/heap.h"

#include "format/event/event.h"

/* Once, before the others. False: there is no memory for the tables. */
bool tg_heap_check_prepare(void);

/* BLOCK was allocated before blocks were checked, with SIZE bytes. */
void tg_heap_check_adopt(const void *block, size_t size, enum tg_heap_call call);

/* ALIGNMENT is a power of two, 0: malloc's. */
void *tg_heap_check_alloc(size_t alignment, size_t size, bool zeroed, enum tg_heap_call call,
                          const void *frame);

/* pvalloc's: SIZE was asked for, and the block has whole pages. */
void *tg_heap_check_whole_pages(size_t size, const void *frame);

/* CALL was asked for an ALIGNMENT that no block can have. */
void tg_heap_check_odd_alignment(size_t alignment, size_t size, const char *call, const void *frame);

/* The allocator answered with BLOCK, which may be NULL, and the program gets that. */
void tg_heap_check_unguarded(void *block, size_t size, enum tg_heap_call call, const void *frame);

/* BLOCK is not NULL. TOLD: to an operator delete, else of size TG_HEAP_NOT_TOLD. */
void tg_heap_check_free(void *block, enum tg_heap_release release, struct tg_heap_told told,
                        const void *frame);

/* OLD is not NULL. */
void *tg_heap_check_realloc(void *old, size_t size, enum tg_heap_call call, const void *frame);

size_t tg_heap_check_usable_size(void *block);

/* The program ends, or executes another one: looks at the guards of all blocks that are left, and at those that are kept.
 * ONLY_OWN: a forked child leaves out what it has of its parent. */
void tg_heap_check_sweep(bool only_own);

#endif
