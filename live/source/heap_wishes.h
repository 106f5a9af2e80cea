/* What a console wants of the heaps of a live job; at first nothing is changed. */
#ifndef TG_LIVE_SOURCE_HEAP_WISHES_H
#define TG_LIVE_SOURCE_HEAP_WISHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the heap library calls where a thread misuses the heap: recorder/agent/heap/notes.c. */
#define TG_HEAP_ERROR_FUNCTION "tollgate_heap_error"

enum { TG_HEAP_TAGS = 32 };

/* What the job must have been started with for a wish to mean something. */
enum tg_heap_wish_needs { TG_HEAP_WISH_NEEDS_HEAP, TG_HEAP_WISH_NEEDS_CHECK, TG_HEAP_WISH_NEEDS_RED_ZONES };

/* Blocks of process PID that start in [start, end): who frees or reallocates one stops. */
struct tg_heap_tag {
    uint64_t start, end;
    int64_t pid;
    bool dealloc, realloc;
};

/* Of heaps that are checked, all but the tags and the errors. */
struct tg_heap_wishes {
    bool no_guards, no_paint_allocated, no_paint_freed, no_hoard, no_red_zones;
    uint64_t hoard_bytes;   /* 0: as the agent has it */
    uint32_t silent_errors; /* bits by tg_heap_error: they are recorded, nothing stops there */
    struct tg_heap_tag tags[TG_HEAP_TAGS];
    size_t n_tags;
};

#endif
