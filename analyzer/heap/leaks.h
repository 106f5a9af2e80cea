/* Leaks of a job: what the latest searches of its processes found, by call path, over all processes. */
#ifndef TG_ANALYZER_HEAP_LEAKS_H
#define TG_ANALYZER_HEAP_LEAKS_H

#include "analyzer/models/heap/model.h"
#include "analyzer/models/process.h"
#include "analyzer/output/selection.h"

#include <stdbool.h>

/* Of one call path: lost blocks with those that only lost ones refer to, or blocks into which pointers are left. */
struct tg_heap_leaks_row {
    bool is_interior;
    uint32_t path;
    uint64_t blocks, bytes;
    uint64_t indirect_blocks; /* of BLOCKS: lost ones refer to them */
    int64_t *ranks;           /* sorted, of the processes that are ranks */
    size_t n_ranks, rank_capacity;
    size_t *processes; /* in the order of the trace: indices in the process model */
    size_t n_processes, process_capacity;
};

/* Caller's storage. */
struct tg_heap_leaks {
    struct tg_heap_leaks_row *rows; /* most bytes first; interior ones last */
    size_t count, capacity;
    uint64_t blocks, bytes; /* of all searches; those that pointers lead into are not counted */
    uint64_t live_blocks;
};

struct tg_heap_leaks_request {
    const struct tg_heap_model *heap;
    const struct tg_process_model *processes;
    const struct tg_selection *selection; /* NULL: all processes */
    bool wants_interior;                  /* rows of blocks into which pointers are left */
    bool only_ranks;
    bool is_whole; /* only searches that could read all that they had to */
};

/* Only error: NO_MEMORY. */
struct tg_error *tg_heap_leaks_make(const struct tg_heap_leaks_request *request, struct tg_heap_leaks *leaks);
void tg_heap_leaks_deinit(struct tg_heap_leaks *leaks);

#endif
