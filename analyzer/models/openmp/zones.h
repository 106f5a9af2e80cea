/* Worksharing constructs and other zones, some of them inferred, barriers, and waits for tasks. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_ZONES_H
#define TG_ANALYZER_MODELS_OPENMP_ZONES_H

#include "analyzer/models/openmp/core.h"

/* Takes an event of WORKER: of a zone, a section, a barrier or another wait for others, or a cancellation. Errors: NO_MEMORY, and those of the options' callbacks. */
struct tg_error *tg_openmp_zones_take(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                      const struct tg_event *event);

#endif
