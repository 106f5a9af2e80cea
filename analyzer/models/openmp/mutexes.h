/* Critical sections, locks, and what else one thread at a time is inside of. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_MUTEXES_H
#define TG_ANALYZER_MODELS_OPENMP_MUTEXES_H

#include "analyzer/models/openmp/core.h"

/* Each takes an event of a worker, as the name says. Errors: NO_MEMORY, and those of the options' callbacks. */
tg_openmp_take tg_openmp_mutex_wait;
tg_openmp_take tg_openmp_mutex_enter;
tg_openmp_take tg_openmp_mutex_leave;

/* Takes one of a lock that WORKER tests, and finds taken. */
void tg_openmp_mutex_test(struct tg_openmp_worker *worker, const struct tg_event *event);

#endif
