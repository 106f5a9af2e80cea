/* The blocks of one heap that were freed last: where each was allocated, and where it was freed. A forked process has
 * them of its parent, and its agent knows no stacks of that: who frees such a block again is told by this. */
#ifndef TG_ANALYZER_MODELS_HEAP_FREES_H
#define TG_ANALYZER_MODELS_HEAP_FREES_H

#include "format/base/error.h"

#include <stdint.h>

enum { TG_HEAP_MAX_FREES = 1 << 15 }; /* the agent keeps half as many */

struct tg_heap_freed {
    uint64_t address;
    uint32_t allocated_path, freed_path; /* 0: unknown */
};

/* NULL is empty. */
struct tg_heap_frees;

/* NULL is accepted. */
void tg_heap_frees_destroy(struct tg_heap_frees *frees);

/* Adds FREED, whose address is not 0; the oldest one goes where there are TG_HEAP_MAX_FREES. Only error, here and below:
 * NO_MEMORY. */
struct tg_error *tg_heap_frees_add(struct tg_heap_frees **frees, const struct tg_heap_freed *freed);

/* ADDRESS is a block in use again. */
void tg_heap_frees_drop(struct tg_heap_frees *frees, uint64_t address);

/* The one at ADDRESS; NULL: none is known. Valid until the next add or drop. */
const struct tg_heap_freed *tg_heap_frees_find(const struct tg_heap_frees *frees, uint64_t address);

struct tg_error *tg_heap_frees_copy(const struct tg_heap_frees *frees, struct tg_heap_frees **copy);

#endif
