/* The heap of one process, as the heap model tells it. */
#ifndef TG_ANALYZER_MODELS_HEAP_PROCESS_H
#define TG_ANALYZER_MODELS_HEAP_PROCESS_H

#include "analyzer/models/heap/blocks.h"
#include "analyzer/models/heap/growth.h"
#include "analyzer/models/heap/use.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call path in one process. */
struct tg_heap_site {
    uint32_t path; /* number in the call paths */
    struct tg_heap_use use;
};

enum { TG_HEAP_SIZE_CLASSES = 65 }; /* class I: sizes of I bits, [2^(I-1), 2^I); 0: empty blocks */

/* Blocks that a search found unreachable. */
struct tg_heap_leak {
    uint64_t kind; /* enum tg_heap_leak_kind */
    uint32_t path;
    uint64_t blocks, bytes;
    uint64_t address;
};

struct tg_heap_scan {
    uint64_t time_ns;
    struct tg_event_heap_leak_scan is; /* the string in it is the model's */
    struct tg_heap_leak *leaks;
    size_t n_leaks;
};

/* The heap of one process. Strings are the model's. */
struct tg_heap_process {
    size_t process; /* index in the process model */
    int32_t pid;
    bool is_started, is_late; /* a heap_start was seen; blocks from before are not known */
    bool has_ended;           /* exited: what was live then is still counted as live */
    uint64_t mode;            /* enum tg_heap_mode */
    uint64_t sample_bytes;    /* 0: all blocks are recorded */
    uint64_t depth;
    const char *allocator; /* "" unknown */
    uint64_t guard_bytes, hoard_bytes;
    bool paints, red_zones;

    struct tg_heap_use use; /* at_peak: the peak itself */
    uint64_t peak_ns;       /* when, 0: there was no block */
    uint64_t recorded;      /* allocations that are in the trace, new sizes included */
    uint64_t freed;         /* blocks, of those that are in the trace */
    uint64_t resized;       /* blocks that got another size, moved or not */
    uint64_t unknown_frees; /* of blocks from before */
    struct tg_heap_amount inherited,
        inherited_live;            /* of a forked process: its parent's blocks that it began with, and
                                                      * those that it has not freed. No part of USE: they were allocated,
                                                      * and are counted, in the parent */
    uint64_t missed_frees;         /* blocks whose address was given out again without a free between */
    struct tg_heap_growth *growth; /* of the live bytes; NULL: there was no block */
    struct tg_heap_use *by_size;   /* TG_HEAP_SIZE_CLASSES; NULL likewise */

    struct tg_heap_site *sites; /* block->site is an index here */
    size_t n_sites;
    struct tg_heap_blocks blocks; /* live ones; empty after the end unless they are kept */
    struct tg_heap_scan scan;     /* the latest; scan.time_ns 0: none */
};

#endif
