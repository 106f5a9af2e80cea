/* What is recorded of the heap, event by event. Times are those of the calls; frames are those of the library's
 * functions that the program called (__builtin_frame_address(0)). */
#ifndef TG_RECORDER_AGENT_HEAP_NOTES_H
#define TG_RECORDER_AGENT_HEAP_NOTES_H

#include "format/event/event.h"

#include <stddef.h>
#include <stdint.h>

/* The allocator returned BLOCK for a call of SIZE bytes; NULL: it failed. */
void tg_heap_note_alloc(const void *block, size_t size, enum tg_heap_call call, const void *frame);

/* BLOCK, not NULL, is about to be freed. */
void tg_heap_note_free(const void *block, enum tg_heap_release release, const void *frame);

/* A moment for tg_heap_note_realloc; 0 where the thread has none. */
uint64_t tg_heap_note_now(void);

/* OLD, not NULL, was reallocated with SIZE bytes at the moment BEFORE, and the allocator returned BLOCK. */
void tg_heap_note_realloc(const void *old, const void *block, size_t size, enum tg_heap_call call,
                          uint64_t before, const void *frame);

/* What is recorded before all others: how the heap is observed. */
void tg_heap_note_start(const char *allocator);
void tg_heap_note_unseen(const char *path, const char *reason);

#endif
