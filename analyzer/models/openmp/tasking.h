/* Explicit tasks: creation, execution, suspension, end. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_TASKING_H
#define TG_ANALYZER_MODELS_OPENMP_TASKING_H

#include "analyzer/models/openmp/core.h"

/* Takes an event of WORKER: it creates, begins or ends a task. Errors: NO_MEMORY, and those of the options' callbacks. */
struct tg_error *tg_openmp_tasking_take(struct tg_openmp_model *model, struct tg_openmp_worker_entry *worker,
                                        const struct tg_event *event);

#endif
