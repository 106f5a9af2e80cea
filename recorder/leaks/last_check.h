/* The last look at the blocks of a process: it may end without having looked at them itself (by a signal, _exit, quick_exit), or go on
 * after that (destructors of libraries that were opened). Observes ends
 * of processes with --heap=check; emits heap_error. */
#ifndef TG_RECORDER_LEAKS_LAST_CHECK_H
#define TG_RECORDER_LEAKS_LAST_CHECK_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"

struct tg_last_check;

/* Observes ENGINE from now on. */
struct tg_error *tg_last_check_create(struct tg_engine *engine, struct tg_last_check **check);
/* After the engine. NULL is accepted. */
void tg_last_check_destroy(struct tg_last_check *check);

#endif
