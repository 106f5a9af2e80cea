/* Attending to the gates of a run while workers come: on the tracer thread, which is called by those who come, and does not
 * wait for the console. */
#ifndef TG_LIVE_COMMANDS_MOTION_GATE_ATTENDANCE_H
#define TG_LIVE_COMMANDS_MOTION_GATE_ATTENDANCE_H

#include "live/commands/motion/gate_run.h"

struct tg_gate_attendance;

/* For RUN, whose gates are still to be opened; RUN and the console live until the end. What takes time is done here, before
 * anybody runs. */
struct tg_error *tg_gate_attendance_create(struct tg_console *console, const struct tg_gate_run *run,
                                           struct tg_gate_attendance **attendance);
/* In a request, in which the gates were opened: from now on workers who have come to them are stopped there, and behind the
 * request and from then on, when all are there, so are the threads in focus. */
void tg_gate_attendance_begin(struct tg_gate_attendance *attendance);
/* The wait has lasted: workers who were stopped before all have come go on waiting at their gates, and are stopped with the
 * others. The others may need them for something, a handler of a signal, say. */
struct tg_error *tg_gate_attendance_relax(struct tg_gate_attendance *attendance);
/* Nobody is stopped any more, and whoever was and is not told to stop by now goes on. NULL is accepted. */
void tg_gate_attendance_end(struct tg_gate_attendance *attendance);

/* Whether so many at the gates of RUN are all who are to come. */
bool tg_gate_attendance_is_complete(const struct tg_gate_run *run, size_t n_here);

#endif
