/* Visits of processes: each is asked to stop, is read, and goes on. */
#ifndef TG_RECORDER_LOOK_VISITS_H
#define TG_RECORDER_LOOK_VISITS_H

#include "recorder/look/reading.h"

/* Visits COUNT processes and tells the sink of LOOK about each, or why it may not be looked at. Only error: NO_MEMORY. */
struct tg_error *tg_visits_make(struct tg_look_shared *look, const pid_t *pids, size_t count);

#endif
