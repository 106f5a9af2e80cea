/* Signals that end a live session: SIGTERM, SIGHUP, and others that would end a program. */
#ifndef TG_LIVE_CONTROL_END_SIGNALS_H
#define TG_LIVE_CONTROL_END_SIGNALS_H

#include "format/base/error.h"
#include "live/control/traced_job.h"

/* From now on such a signal is noted, before there is a job: who dies while it attaches takes the job along.
 * A signal that was ignored stays so. Once at a time; whoever catches an interrupt for a while gives it
 * back. */
struct tg_error *tg_end_signals_catch(void);

/* Such a signal, also one that was noted, ends JOB in the way HOW says, so that nothing of ours is left in
 * any process and its trace is whole, and then this process, by the signal. Behind catch. */
struct tg_error *tg_end_signals_begin(struct tg_traced_job *job, enum tg_job_end how);

/* As if SIGNAL, one of these, had come. Between begin and end; async-signal-safe. */
void tg_end_signals_take(int signal);

/* Behind catch, when JOB has ended: until then a signal would leave it as it is. */
void tg_end_signals_end(void);

#endif
