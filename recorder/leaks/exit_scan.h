/* The search for leaks when processes end: each stands in its last stop for it; and when somebody asks. Observes ends,
 * emits heap_leak and heap_leak_scan. */
#ifndef TG_RECORDER_LEAKS_EXIT_SCAN_H
#define TG_RECORDER_LEAKS_EXIT_SCAN_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/leaks/live_blocks.h"
#include "recorder/rings/ring_set.h"

#include <stdbool.h>

struct tg_exit_scan;

struct tg_exit_scan_options {
    struct tg_live_blocks *live;
    const char *agent_directory;
    /* Waits until the events up to UP_TO_NS, or now, are in LIVE; false: not in time. On the tracer thread. */
    bool (*settle)(void *context, uint64_t up_to_ns);
    /* As tg_agent_drain_foresee. */
    bool (*foresee)(void *context, struct tg_ring_foresight *foresight);
    /* As of struct tg_last_check_options. */
    bool (*spares_killed)(void *context);
    void *context;
};

/* Observes ENGINE from now on; what OPTIONS names must outlive it. */
struct tg_error *tg_exit_scan_create(struct tg_engine *engine, const struct tg_exit_scan_options *options,
                                     struct tg_exit_scan **scan);
/* The same search now, while THREAD and all others of its process are stopped; on the tracer thread. Errors: NOT_FOUND, its
 * heap is not observed, or by a sample; TARGET, a thread runs; LIMIT, the records of the heap were not read in time. */
struct tg_error *tg_exit_scan_search(struct tg_exit_scan *scan, struct tg_thread *thread);
/* After the engine. NULL is accepted. */
void tg_exit_scan_destroy(struct tg_exit_scan *scan);

#endif
