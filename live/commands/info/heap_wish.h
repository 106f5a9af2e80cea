/* What `dheap` changes in a live job: guards, paint, hoard, red zones, at which errors and tagged blocks it stops. */
#ifndef TG_LIVE_COMMANDS_INFO_HEAP_WISH_H
#define TG_LIVE_COMMANDS_INFO_HEAP_WISH_H

#include "live/console/console.h"

enum tg_heap_part {
    TG_HEAP_PART_NONE,
    TG_HEAP_PART_GUARD,
    TG_HEAP_PART_PAINT,
    TG_HEAP_PART_HOARD,
    TG_HEAP_PART_RED_ZONES,
    TG_HEAP_PART_EVENTS,
    TG_HEAP_PART_TAGS,
};

enum tg_heap_switch { TG_HEAP_SWITCH_NONE, TG_HEAP_SWITCH_ON, TG_HEAP_SWITCH_OFF };

struct tg_heap_wish {
    enum tg_heap_part part;
    enum tg_heap_switch set, set_alloc, set_dealloc;    /* the two of PAINT */
    enum tg_heap_switch notify_dealloc, notify_realloc; /* of TAGS */
    uint64_t max_kb;                                    /* of HOARD, 0 as it is */
    const char *event;                                  /* of EVENTS, NULL all */
    bool has_range;                                     /* of TAGS: blocks that start in [start, end) */
    uint64_t start, end;
};

/* Whether WISH changes anything. */
bool tg_heap_wish_changes(const struct tg_heap_wish *wish);

/* Changes it and says so. Errors: USAGE, UNSUPPORTED (also of a trace), LIMIT (too many tags), NOT_FOUND. */
struct tg_error *tg_heap_wish_make(struct tg_console *console, const struct tg_heap_wish *wish, FILE *out);

/* The tags of a live job. */
struct tg_error *tg_heap_wish_list_tags(const struct tg_console *console, FILE *out);

/* Whether PART is switched off; of PAINT both halves. A trace has none that are. */
bool tg_heap_wish_is_off(const struct tg_console *console, enum tg_heap_part part);
/* Whether a live job does not stop at errors of kind ERROR. */
bool tg_heap_wish_is_silent(const struct tg_console *console, uint64_t error);
/* "", or which blocks of a live job alone are painted: "freed ", "allocated ". */
const char *tg_heap_wish_painted(const struct tg_console *console);
/* The number of the kind of errors WORD; USAGE: there is none. */
struct tg_error *tg_heap_wish_find_event(const char *word, uint64_t *kind);
/* Bytes of freed blocks that are kept; 0: as the trace has it. */
uint64_t tg_heap_wish_hoard_bytes(const struct tg_console *console);

#endif
