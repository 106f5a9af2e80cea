/* Processes whose heaps are about equally large: "ranks 0-62: 1.20 GiB each". */
#ifndef TG_ANALYZER_HEAP_GROUPS_H
#define TG_ANALYZER_HEAP_GROUPS_H

#include "analyzer/heap/path_names.h"
#include "analyzer/models/heap/model.h"
#include "analyzer/models/process.h"
#include "analyzer/output/selection.h"

#include <stdio.h>

struct tg_heap_group {
    int64_t *ranks; /* sorted */
    size_t n_ranks;
    size_t n_processes;   /* members, ranks among them */
    size_t largest;       /* the one with the largest peak: index in the process model */
    uint64_t least, most; /* peaks of the members, in bytes */
    uint64_t error;       /* standard error of MOST, 0: exact */
    uint64_t live;        /* bytes of all members */
    uint32_t path;        /* path that has most of LARGEST's peak */
    uint64_t path_bytes;  /* of it */
};

/* The groups, largest first; peaks of one group are within a quarter of the largest, or, of samples, within what chance may do.
 * To be freed with destroy. Only error: NO_MEMORY. */
struct tg_error *tg_heap_groups_make(const struct tg_heap_model *heap,
                                     const struct tg_process_model *processes,
                                     const struct tg_selection *selection, struct tg_heap_group **groups,
                                     size_t *count);
void tg_heap_groups_destroy(struct tg_heap_group *groups, size_t count);

/* "ranks 0-62: peak 1.20 GiB each, most of it from solve (solve.c:211)", printable, without a line end. */
void tg_heap_group_write(FILE *stream, const struct tg_heap_group *group,
                         const struct tg_process_model *processes, const struct tg_heap_model *heap,
                         const struct tg_heap_path_names *names);

#endif
