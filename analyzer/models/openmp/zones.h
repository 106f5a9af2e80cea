/* Worksharing constructs and other zones, some of them inferred, barriers, and waits for tasks. Internal to the OpenMP model. */
#ifndef TG_ANALYZER_MODELS_OPENMP_ZONES_H
#define TG_ANALYZER_MODELS_OPENMP_ZONES_H

#include "analyzer/models/openmp/core.h"

/* Each takes an event of a worker, as the name says; a sync is a barrier or another wait for others. Errors: NO_MEMORY, and those
 * of the options' callbacks. */
tg_openmp_take tg_openmp_zone_begin;
tg_openmp_take tg_openmp_zone_end;
tg_openmp_take tg_openmp_sync_begin;
tg_openmp_take tg_openmp_sync_end;
/* Of a section, a chunk or an iteration of a loop, or a cancellation; of any other kind there is nothing to take. */
tg_openmp_take tg_openmp_zones_take;

#endif
