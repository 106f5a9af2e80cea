/* The places of suspended tasks until they are resumed. For analyzer/models/openmp.c alone. */
#ifndef TG_ANALYZER_MODELS_OPENMP_SUSPENDED_H
#define TG_ANALYZER_MODELS_OPENMP_SUSPENDED_H

#include "analyzer/models/openmp_state.h"
#include "format/base/error.h"

enum { TG_OPENMP_MAX_SUSPENDED = 1 << 16 }; /* tasks that are kept; what others are inside of is forgotten */

struct tg_openmp_suspended_entry;

/* All zero is an empty one. */
struct tg_openmp_suspended {
    struct tg_openmp_suspended_entry *entries;
};

void tg_openmp_suspended_deinit(struct tg_openmp_suspended *suspended);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_suspended_copy(const struct tg_openmp_suspended *from,
                                          struct tg_openmp_suspended *to);

/* TASK of PROCESS is inside of COUNT places, the outermost first; they replace what was kept of it. Only
 * error: NO_MEMORY. */
struct tg_error *tg_openmp_suspended_put(struct tg_openmp_suspended *suspended, size_t process, uint64_t task,
                                         const struct tg_openmp_place *places, size_t count);
/* Hands out *COUNT places, for the caller to free, and forgets them; NULL and 0 where nothing is kept. */
struct tg_openmp_place *tg_openmp_suspended_take(struct tg_openmp_suspended *suspended, size_t process,
                                                 uint64_t task, size_t *count);
void tg_openmp_suspended_drop_process(struct tg_openmp_suspended *suspended, size_t process);

#endif
