#include "format/base/array.h"
#include "recorder/engine/engine_internal.h"
#include "recorder/engine/keep.h"
#include "recorder/engine/rest.h"
#include "recorder/engine/resume.h"
#include "recorder/engine/step.h"
#include "recorder/engine/tracee.h"

/* Orders for single threads (engine.h): what a kept thread still has to do is done when it goes on. */

bool tg_thread_is_kept(const struct tg_thread *thread)
{
    return ((const struct tg_tracee *)thread)->kept;
}

bool tg_thread_has_ended(const struct tg_thread *thread)
{
    return ((const struct tg_tracee *)thread)->exiting;
}

void tg_thread_keep(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    tracee->keep_due = !tracee->exiting;
}

/* Without memory for it the wait for any thread finds the stop. */
static void note_interrupted(struct tg_engine *engine, pid_t tid)
{
    (void)TG_ARRAY_APPEND(engine->interrupted, engine->n_interrupted, engine->interrupted_capacity, tid);
}

void tg_thread_halt(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    if (tracee->kept || tracee->exiting || tracee->keep_due)
        return;
    tracee->keep_due = true;
    if (tracee->rests) {
        tg_rest_end(tracee);
        return;
    }
    tracee->halt_due = tracee->running && !tracee->first_stop_due && !tg_keep_has_waiting_parent(tracee);
    if (tracee->halt_due && ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0)
        note_interrupted(thread->process->engine, thread->tid);
}

static void go_on(struct tg_tracee *tracee)
{
    tracee->kept = false;
    if (tracee->step.waiting && tracee->step.awaited == 0)
        tg_step_go_on(tracee);
    else if (tracee->kept_listening)
        tg_tracee_listen(tracee);
    else if (!tracee->step.waiting)
        tg_tracee_resume(tracee, tracee->kept_signal);
}

void tg_thread_go(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    tracee->keep_due = false;
    tracee->called_off = true;
    if (tracee->kept)
        go_on(tracee);
}

void tg_thread_step(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    if (!tracee->kept)
        return;
    tracee->stepping = true;
    tracee->called_off = false;
    go_on(tracee);
}
