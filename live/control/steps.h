/* Steps of a live job's threads: what live/inspect/step/stepper orders is carried out by the engine, with
 * temporary breakpoints of that thread alone. The tracer thread's. */
#ifndef TG_LIVE_CONTROL_STEPS_H
#define TG_LIVE_CONTROL_STEPS_H

#include "live/control/modules.h"
#include "live/inspect/step/stepper.h"
#include "recorder/engine/engine.h"

struct tg_job_steps;

struct tg_error *tg_job_steps_create(struct tg_job_modules *modules, struct tg_job_steps **steps);
void tg_job_steps_destroy(struct tg_job_steps *steps); /* NULL is accepted; after the engine's run */

/* THREAD, which is kept, takes that step when it is let go next. ALONE: others do not run for it; else its
 * process is to be stopped when it is there. TARGET error where the step is not possible. */
struct tg_error *tg_job_steps_prepare(struct tg_job_steps *steps, struct tg_thread *thread,
                                      const struct tg_step_request *request, bool alone);

/* Lets THREAD go on its step. False: it has none. */
bool tg_job_steps_go(struct tg_job_steps *steps, struct tg_thread *thread);

/* Outcome of a stop of THREAD in its step. */
enum tg_job_step {
    TG_JOB_STEP_NONE,  /* no step under way */
    TG_JOB_STEP_ON,    /* the step goes on */
    TG_JOB_STEP_ALONE, /* the step is over, or not possible */
    TG_JOB_STEP_ALL,   /* the same; its process is to be stopped */
};

/* Inside a stop of THREAD that is no end of a step, and that concerns nobody: where it was about to execute
 * one instruction it does so yet. */
void tg_job_steps_interrupted(struct tg_job_steps *steps, struct tg_thread *thread);

/* THREAD is kept, for no reason but its step's orders. */
enum tg_job_step tg_job_steps_kept(struct tg_job_steps *steps, struct tg_thread *thread);

/* THREAD stays where it is, or has ended. Whether its process is to be stopped for that. */
bool tg_job_steps_drop(struct tg_job_steps *steps, pid_t tid);

/* [start, start + size) of PROCESS is gone, and what was planted there. */
void tg_job_steps_unloaded(struct tg_job_steps *steps, const struct tg_process *process, uint64_t start,
                           uint64_t size);
/* PROCESS has another program, or has ended. */
void tg_job_steps_forget(struct tg_job_steps *steps, const struct tg_process *process);

#endif
