/* The last look at the blocks of a process: it may end without having looked at them itself (by a signal, _exit, quick_exit), or go on
 * after that (destructors of libraries that were opened). Observes ends
 * of processes with --heap=check; emits heap_error. */
#ifndef TG_RECORDER_LEAKS_LAST_CHECK_H
#define TG_RECORDER_LEAKS_LAST_CHECK_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"

#include <stdbool.h>

struct tg_last_check;

struct tg_last_check_options {
    /* Whether processes that SIGKILL ends are not looked at: somebody wants them to be gone at once. */
    bool (*spares_killed)(void *context);
    void *context;
};

/* Observes ENGINE from now on; what OPTIONS names must outlive it. */
struct tg_error *tg_last_check_create(struct tg_engine *engine, const struct tg_last_check_options *options,
                                      struct tg_last_check **check);
/* After the engine. NULL is accepted. */
void tg_last_check_destroy(struct tg_last_check *check);

#endif
