/* Waiting for the workers of a run to come to its gates, and telling that they cannot. */
#ifndef TG_LIVE_COMMANDS_MOTION_GATE_WAIT_H
#define TG_LIVE_COMMANDS_MOTION_GATE_WAIT_H

#include "live/commands/motion/gate_attendance.h"
#include "live/commands/motion/gate_run.h"
#include "live/control/request.h"

/* Until the first worker has come to a gate of RUN, or with of_each one to each; then the threads in focus are told to
 * stop. Also where no thread runs any more, and where none can come: *BLOCKED says why, and is the caller's. */
struct tg_error *tg_gate_wait_first(struct tg_console *console, struct tg_gate_run *run,
                                    struct tg_error **blocked, FILE *out);

/* Until all workers of RUN, which ATTENDANCE is of, have come; then as above. Also where those who have not cannot, or are
 * stopped. */
struct tg_error *tg_gate_wait_all(struct tg_console *console, struct tg_gate_run *run,
                                  struct tg_gate_attendance *attendance, FILE *out);

/* Resumes the job until somebody has come to the gate of RUN, of whatever process; then that process, or all ranks, are
 * told to stop, and are the focus. Ends without that where ranks have come, which are stopped at their beginning and are
 * the focus, where the job has ended, and where nobody can come, as above. */
struct tg_error *tg_gate_wait_job(struct tg_console *console, struct tg_gate_run *run,
                                  struct tg_error **blocked, FILE *out);

/* A request's work, of a run: who waits at its gates now. */
struct tg_error *tg_gate_wait_note(const struct tg_request *request);

#endif
