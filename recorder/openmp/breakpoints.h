/* OpenMP seen from outside: an engine observer that plants breakpoints on the entry points of GCC's runtime,
 * and on the bodies of regions and tasks, in programs that the agent cannot be in. Each call costs one or two
 * stops; events say `seen=breakpoint`.
 *
 * What cannot be known this way: which of several tasks with one body a thread begins (the oldest is assumed:
 * `seen=inferred`), team sizes, locks, and calls that the program's own copies of inline code make. */
#ifndef TG_RECORDER_OPENMP_BREAKPOINTS_H
#define TG_RECORDER_OPENMP_BREAKPOINTS_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/process/image_cache.h"

#include <stdbool.h>

struct tg_openmp_breakpoints;

struct tg_openmp_breakpoints_options {
    struct tg_image_cache *images; /* outlives the observer */
    /* Whether PROCESS, stopped at its entry point, is to be watched this way. NULL: every program is. */
    bool (*wanted)(void *context, const struct tg_process *process);
    void *context;
};

/* Adds itself to ENGINE and must outlive it. */
struct tg_error *tg_openmp_breakpoints_create(struct tg_engine *engine,
                                              const struct tg_openmp_breakpoints_options *options,
                                              struct tg_openmp_breakpoints **breakpoints);
void tg_openmp_breakpoints_destroy(struct tg_openmp_breakpoints *breakpoints); /* NULL is accepted */

#endif
