/* Parallel regions and the implicit tasks of their teams. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_REGIONS_H
#define TG_ANALYZER_MODELS_OPENMP_REGIONS_H

#include "analyzer/models/openmp/core.h"

/* Takes an event of WORKER: a region begins or ends, or its implicit task. Errors: NO_MEMORY, and those of the options' callbacks. */
struct tg_error *tg_openmp_regions_take(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event);

#endif
