/* A process in front of the one that traces, where the job is somebody's running one: it is what a person, a
 * shell or a batch system has started, and what they kill. What a killed tracer was doing with a thread can
 * be put right by nobody else (docs/decisions.md): so the one that traces is another process, which learns of
 * the end of the one in front, and lets the job go in order.
 *
 * The one in front passes signals on, and ends as the other one does. */
#ifndef TG_RECORDER_RECORD_FRONT_H
#define TG_RECORDER_RECORD_FRONT_H

#include "format/base/error.h"

struct tg_front;

/* Forks, and returns in the new process, which goes on as if nothing had happened; the old one never returns.
 * While there is one thread. Errors: OS, NO_MEMORY; then there is no new process. */
struct tg_error *tg_front_create(struct tg_front **front);

/* From now on GONE is called, once, on a thread of its own, when the process in front has ended (also before
 * this call). Signals that were sent to it meanwhile come now: whoever calls this has its handlers in
 * place. */
struct tg_error *tg_front_watch(struct tg_front *front, void (*gone)(void *context), void *context);

/* GONE is not called any more; where it is being called, waits for it. NULL is accepted. */
void tg_front_destroy(struct tg_front *front);

#endif
