/* A reading of a process as events, and remarks about what is missing in it. */
#ifndef TG_RECORDER_LOOK_READING_EVENTS_H
#define TG_RECORDER_LOOK_READING_EVENTS_H

#include "recorder/look/reading.h"

/* Tells the sink of LOOK about process PID. BITS: 32 or 64, of its program. IS_FIRST: READING is the first of PID in this
 * look, so that its counts are of the whole time. */
void tg_reading_tell(const struct tg_look_shared *look, pid_t pid, unsigned bits, bool is_first,
                     const struct tg_reading *reading);

#endif
