/* A launcher that does not end although all of its ranks have: it takes no note of that. mpirun of Open MPI waits for itself so
 * now and then, also untraced (docs/mpir.md). The user is told; who asks the recorder to end is not kept waiting. */
#ifndef TG_RECORDER_RECORD_STUCK_LAUNCHER_H
#define TG_RECORDER_RECORD_STUCK_LAUNCHER_H

#include "format/base/error.h"
#include "recorder/engine/engine.h"
#include "recorder/mpir/session.h"

struct tg_stuck_launcher;

struct tg_stuck_launcher_options {
    struct tg_engine *engine;     /* `serve` of its options calls tg_stuck_launcher_serve */
    struct tg_mpir_session *mpir; /* session that knows the launchers, and looks at those that say nothing */
    /* A launcher is stuck, or is about to be killed for that: TEXT says so. On the tracer thread. */
    void (*tell)(void *context, const char *text);
    void *context;
};

/* Adds itself to the engine, which it must outlive once threads are traced; OPTIONS is copied. tg_stuck_launcher_stop comes
 * before the engine's end. Errors: NO_MEMORY, SYSTEM. */
struct tg_error *tg_stuck_launcher_create(const struct tg_stuck_launcher_options *options,
                                          struct tg_stuck_launcher **watch);
void tg_stuck_launcher_stop(struct tg_stuck_launcher *watch);    /* NULL is accepted */
void tg_stuck_launcher_destroy(struct tg_stuck_launcher *watch); /* likewise */

/* Somebody asked the recorder to end: a launcher that has been stuck for 10 s, or will have been, is killed.
 * Async-signal-safe. */
void tg_stuck_launcher_ask(struct tg_stuck_launcher *watch);
/* Looks, and tells of a launcher whose time is over, or kills it. On the tracer thread, outside of stops. */
void tg_stuck_launcher_serve(struct tg_stuck_launcher *watch);

#endif
