/* The course of a run to gates: they are opened, the workers go, are waited for and stopped, and the gates are closed. */
#ifndef TG_LIVE_COMMANDS_MOTION_GATE_COURSE_H
#define TG_LIVE_COMMANDS_MOTION_GATE_COURSE_H

#include "live/commands/motion/gate_run.h"

/* Resumes the threads in focus until all workers of RUN have come to their gates, or the first one; then all
 * are stopped, and the gates are away. NAME is recorded. Ends early where threads stop for other reasons, or have
 * ended. UNSUPPORTED where there is no agent; held workers that would have to come are an error, and so is that all
 * who run wait for one who does not. */
struct tg_error *tg_gate_course_run(struct tg_console *console, struct tg_gate_run *run, const char *name,
                                    FILE *out);

#endif
