/* Threads that wait for the controller inside of our agent and are stopped before it asks for that (tg_thread_rest in
 * engine.h). A rest is a stop whose handling is put off, as behind a look (pause.h), until somebody wants it. */
#ifndef TG_RECORDER_ENGINE_REST_H
#define TG_RECORDER_ENGINE_REST_H

#include "recorder/engine/tracee.h"

/* STATUS of TRACEE is a stop: true where that is the beginning of its rest, and is not to be handled now. */
bool tg_rest_begins(struct tg_tracee *tracee, int status);
/* The stop in which TRACEE rests is to be handled behind the stop or request in progress. */
void tg_rest_end(struct tg_tracee *tracee);

#endif
