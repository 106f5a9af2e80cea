/* One wait status: what happened, and who handles it. */
#ifndef TG_RECORDER_ENGINE_DISPATCH_H
#define TG_RECORDER_ENGINE_DISPATCH_H

#include "recorder/engine/engine_internal.h"

/* Handles what waitpid returned. */
void tg_dispatch(struct tg_engine *engine, pid_t tid, int status);
/* Handles parked stops of threads that are known by now. */
void tg_dispatch_parked(struct tg_engine *engine);
/* Handles stops that were put off: pause.h. */
void tg_dispatch_paused(struct tg_engine *engine);
/* Handles what was collected early. */
void tg_dispatch_early(struct tg_engine *engine);

#endif
