/* Telling the engine's observers, in the order in which they were added. */
#ifndef TG_RECORDER_ENGINE_OBSERVERS_H
#define TG_RECORDER_ENGINE_OBSERVERS_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

/* Each calls the callback of its name (struct tg_observer, which says what it may do) of all observers that have one. On the
 * tracer's thread. */
void tg_observers_process_started(struct tg_tracee *tracee, struct tg_process *parent);
void tg_observers_launching(struct tg_engine *engine, pid_t pid);
void tg_observers_program_loaded(struct tg_tracee *tracee, bool attached);
void tg_observers_stopped(struct tg_tracee *tracee, enum tg_stop_trigger trigger, int signal);
void tg_observers_halted(struct tg_tracee *tracee);
/* Ends early where an observer lets TRACEE go again. */
void tg_observers_kept(struct tg_tracee *tracee);
void tg_observers_process_leaving(struct tg_tracee *tracee, enum tg_stop_trigger trigger);
void tg_observers_job_leaving(struct tg_engine *engine);
void tg_observers_process_ended(struct tg_process *process);

#endif
