#include "recorder/engine/rest.h"

#include "format/base/array.h"
#include "recorder/engine/engine_internal.h"
#include "recorder/engine/keep.h"
#include "recorder/engine/restart.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

void tg_thread_rest(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    struct tg_engine *engine = thread->process->engine;
    if (!tracee->running || tracee->paused || tracee->rest_due || tracee->keep_due || tracee->exiting ||
        tracee->first_stop_due || tracee->in_vfork || tracee->listening || tracee->step.active ||
        tracee->stepping || tg_traced_of(tracee)->detaching || tg_traced_of(tracee)->group_stopped ||
        ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) != 0)
        return;
    tracee->rest_due = true;
    engine->has_rests = true;
    /* without memory for it the wait for any thread finds the stop */
    (void)TG_ARRAY_APPEND(engine->interrupted, engine->n_interrupted, engine->interrupted_capacity,
                          thread->tid);
}

bool tg_rest_begins(struct tg_tracee *tracee, int status)
{
    bool is_due = tracee->rest_due;
    if (tracee->rests) /* killed, or ended by an exec */
        tracee->rests = tracee->paused = false;
    tracee->rest_due = false; /* before a signal's handler it does not rest */
    if (!is_due || status >> 16 != PTRACE_EVENT_STOP || WSTOPSIG(status) != SIGTRAP || tracee->keep_due ||
        tracee->first_stop_due || tg_traced_of(tracee)->detaching)
        return false;
    tg_restart_wait_of_paused(tracee);
    tracee->rests = tracee->paused = true;
    tracee->paused_status = status;
    return true;
}

void tg_rest_end(struct tg_tracee *tracee)
{
    struct tg_engine *engine = tracee->thread.process->engine;
    const struct tg_early_status stop = {tracee->thread.tid, tracee->paused_status};
    tracee->rest_due = false;
    if (!tracee->rests)
        return;
    tracee->rests = false;
    if (TG_ARRAY_APPEND(engine->paused, engine->n_paused, engine->paused_capacity, stop) == NULL)
        return;
    tracee->paused = false; /* no memory: let go on from here */
    ptrace(PTRACE_CONT, tracee->thread.tid, NULL, NULL);
}

void tg_engine_end_rests(struct tg_engine *engine)
{
    if (!engine->has_rests)
        return;
    engine->has_rests = false;
    struct tg_tracee *tracee, *next;
    HASH_ITER (by_tid, engine->tracees, tracee, next)
        tg_rest_end(tracee);
}
