/* What is recorded of the heap, event by event. Times are those of the calls; frames are those of the library's
 * functions that the program called (__builtin_frame_address(0)). */
#ifndef TG_RECORDER_AGENT_HEAP_NOTES_H
#define TG_RECORDER_AGENT_HEAP_NOTES_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How an allocation was recorded. */
struct tg_heap_noted {
    uint32_t stack;
    enum tg_heap_call call;
    size_t size;
    const void *frame;
    size_t alignment; /* as asked of an aligned operator new; 0: none */
    unsigned char
        linked_in; /* enum tg_heap_linked_in_form: which operator of the program's own has called; 0: none */
};

/* Whether FRAME is that of a call which the thread's operator new makes. */
bool tg_heap_note_is_within_operator(const void *frame);

/* The allocator returned BLOCK for a call of SIZE bytes; NULL: it failed. */
struct tg_heap_noted tg_heap_note_alloc(const void *block, size_t size, enum tg_heap_call call,
                                        const void *frame);

/* The same in two parts, where blocks are checked: what will be recorded of a call, and the event. */
struct tg_heap_noted tg_heap_note_prepare(size_t size, enum tg_heap_call call, const void *frame);
void tg_heap_note_prepared(const void *block, const struct tg_heap_noted *noted);

/* BLOCK, not NULL, is about to be freed. */
void tg_heap_note_free(const void *block, enum tg_heap_release release, const void *frame);

/* The same with a stack of tg_heap_note_stack. */
void tg_heap_note_free_at(const void *block, enum tg_heap_release release, uint32_t stack);
uint32_t tg_heap_note_stack(const void *frame);

/* The same afterwards, of a moment of tg_heap_note_now, 0 where the thread has no ring or may not read the clock. */
uint64_t tg_heap_note_now(void);
void tg_heap_note_freed(const void *block, enum tg_heap_release release, uint64_t ticks);

/* Something wrong: the members of heap_error. */
struct tg_heap_mistake {
    enum tg_heap_error error;
    uintptr_t address, block;
    size_t size;
    uint32_t allocated_stack, freed_stack;
    int32_t allocated_tid, freed_tid;
    int64_t offset;
    size_t wrong_bytes;
    const char *call;
};
void tg_heap_note_mistake(const struct tg_heap_mistake *mistake, const void *frame);

/* A reallocation under way. */
struct tg_heap_realloc {
    const void *old;
    uint64_t ticks;  /* when it began; 0: the thread has no clock */
    bool is_sampled; /* OLD was in the table of blocks that were hit */
};

/* OLD, not NULL, is about to be reallocated. */
struct tg_heap_realloc tg_heap_note_realloc_begin(const void *old);

/* The reallocation BEGUN asked for SIZE bytes, and the allocator returned BLOCK. */
void tg_heap_note_realloc_end(const struct tg_heap_realloc *begun, const void *block, size_t size,
                              enum tg_heap_call call, const void *frame);

/* What is recorded before all others: how the heap is observed. */
void tg_heap_note_start(const char *allocator);
void tg_heap_note_unseen(const char *path, const char *reason);

#endif
