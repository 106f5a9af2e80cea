/* Accesses to pages between blocks with red zones, and to such blocks that were freed: the process gets SIGSEGV for them, and
 * they become heap_error events, with the stacks of the access, of the allocation and of the free. */
#ifndef TG_RECORDER_LEAKS_RED_ZONE_FAULTS_H
#define TG_RECORDER_LEAKS_RED_ZONE_FAULTS_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/leaks/live_blocks.h"
#include "recorder/process/image_cache.h"

#include <stdbool.h>

struct tg_red_zone_faults;

struct tg_red_zone_faults_options {
    struct tg_live_blocks *live;
    struct tg_image_cache *images;
    /* Waits until the events up to UP_TO_NS, or now, are in LIVE; false: not in time. On the tracer thread. */
    bool (*settle)(void *context, uint64_t up_to_ns);
    void *context;
};

/* Observes ENGINE from now on; what OPTIONS names must outlive it. */
struct tg_error *tg_red_zone_faults_create(struct tg_engine *engine,
                                           const struct tg_red_zone_faults_options *options,
                                           struct tg_red_zone_faults **faults);
/* After the engine. NULL is accepted. */
void tg_red_zone_faults_destroy(struct tg_red_zone_faults *faults);

#endif
