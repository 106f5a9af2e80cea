/* Threads of one process that wait for each other in OpenMP: who could let whom go on. */
#ifndef TG_ANALYZER_VERDICT_OPENMP_WAITS_H
#define TG_ANALYZER_VERDICT_OPENMP_WAITS_H

#include "analyzer/finding/stillness.h"
#include "analyzer/models/openmp/model.h"
#include "format/base/error.h"

/* A worker cannot go on before another one does. Indices in the model. */
struct tg_openmp_wait {
    size_t from, to;
};

struct tg_openmp_waits {
    const struct tg_openmp_model *model;
    const struct tg_stillness *stillness;
    const struct tg_openmp_worker **workers; /* of all processes, by process and index */
    size_t n_workers;
    struct tg_openmp_wait *waits; /* sorted by FROM and TO */
    size_t n_waits, capacity;
    bool *is_in_ring; /* by index of a worker: it waits in a ring that was told */
};

/* Caller's storage, to be deinited also where it fails. STILLNESS is kept. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_waits_init(struct tg_openmp_waits *waits, const struct tg_openmp_model *model,
                                      const struct tg_stillness *stillness);
void tg_openmp_waits_deinit(struct tg_openmp_waits *waits);

/* The innermost place of WORKER, NULL where it is in none. */
const struct tg_openmp_place *tg_openmp_waits_place(const struct tg_openmp_worker *worker);
/* Where WORKER is, if that is a place of KIND; NULL otherwise. */
const struct tg_openmp_place *tg_openmp_waits_at(const struct tg_openmp_worker *worker,
                                                 enum tg_openmp_place_kind kind);
/* Whether WORKER waits in TEAM for what another one of it does: SYNC. */
bool tg_openmp_waits_in(const struct tg_openmp_worker *worker, uint64_t team, enum tg_omp_sync sync);
/* The place at which WORKER waits for tasks, NULL none. What a taskloop has made is waited for inside of it. */
const struct tg_openmp_place *tg_openmp_waits_for_tasks(const struct tg_openmp_worker *worker);
/* Where WORKER waits for a lock, or tests one again and again in vain (is_tested); NULL where it does neither. */
const struct tg_openmp_place *tg_openmp_waits_lock(const struct tg_openmp_waits *waits,
                                                   const struct tg_openmp_worker *worker);
/* Whether that place of WORKER's is of tests: it may do something else between them. */
static inline bool tg_openmp_waits_is_tested(const struct tg_openmp_worker *worker,
                                             const struct tg_openmp_place *place)
{
    return place == &worker->tests.place;
}
/* Whether OTHER, whose place OTHERS is, has to do with the same lock as WORKER at PLACE. */
bool tg_openmp_waits_same_lock(const struct tg_openmp_worker *worker, const struct tg_openmp_place *place,
                               const struct tg_openmp_worker *other, const struct tg_openmp_place *others);
/* The worker that is inside of what WAITER waits to enter, and *PLACE where it entered; NULL: none is known. */
const struct tg_openmp_worker *tg_openmp_waits_holder(const struct tg_openmp_waits *waits,
                                                      const struct tg_openmp_worker *waiter,
                                                      const struct tg_openmp_place **place);
/* The workers of PROCESS: *COUNT from the result on. */
const struct tg_openmp_worker **tg_openmp_waits_workers(const struct tg_openmp_waits *waits, size_t process,
                                                        size_t *count);

/* The next ring of workers of which each waits for the next, that shares none with those before: *RING, owned
 * by the caller, and *COUNT, 0: there are no more. Only error: NO_MEMORY. */
struct tg_error *tg_openmp_waits_ring(struct tg_openmp_waits *waits, size_t **ring, size_t *count);

#endif
