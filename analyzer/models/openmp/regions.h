/* Parallel regions and the implicit tasks of their teams. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_REGIONS_H
#define TG_ANALYZER_MODELS_OPENMP_REGIONS_H

#include "analyzer/models/openmp/core.h"

/* Each takes an event of a worker: it meets a construct, or goes on behind it; it begins or ends its part of the region. Errors:
 * NO_MEMORY, and those of the options' callbacks. */
tg_openmp_take tg_openmp_region_begin;
tg_openmp_take tg_openmp_region_end;
tg_openmp_take tg_openmp_region_enter;
tg_openmp_take tg_openmp_region_leave;

#endif
