/* Stops of threads that nobody has told about yet: a child's first stop can come before its parent's fork
 * event. Also what a child's creation, or an attach, found of a thread and is to be handled as soon as the stop
 * in progress is over. */
#ifndef TG_RECORDER_ENGINE_PARKED_H
#define TG_RECORDER_ENGINE_PARKED_H

#include "recorder/engine/engine_internal.h"

struct tg_parked_stop {
    pid_t tid;
    int status;
    uint64_t since_ns;
    UT_hash_handle hh;
};

/* False without memory. */
bool tg_parked_add(struct tg_engine *engine, pid_t tid, int status);
bool tg_parked_take(struct tg_engine *engine, pid_t tid, int *status);
bool tg_parked_has(struct tg_engine *engine, pid_t tid);
/* A parked stop whose thread is known by now, 0 none. */
pid_t tg_parked_known(struct tg_engine *engine);

#endif
