/* Explicit tasks: creation, execution, suspension, end. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_TASKING_H
#define TG_ANALYZER_MODELS_OPENMP_TASKING_H

#include "analyzer/models/openmp/core.h"

/* Each takes an event of a worker: it creates, begins or ends a task. Errors: NO_MEMORY, and those of the options' callbacks. */
tg_openmp_take tg_openmp_task_create;
tg_openmp_take tg_openmp_task_begin;
tg_openmp_take tg_openmp_task_end;

#endif
