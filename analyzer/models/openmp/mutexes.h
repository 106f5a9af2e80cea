/* Critical sections, locks, and what else one thread at a time is inside of. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_MUTEXES_H
#define TG_ANALYZER_MODELS_OPENMP_MUTEXES_H

#include "analyzer/models/openmp/core.h"

/* Takes an event of WORKER: it waits for, enters or leaves a mutex. Errors: NO_MEMORY, and those of the options' callbacks. */
struct tg_error *tg_openmp_mutexes_take(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event);

#endif
