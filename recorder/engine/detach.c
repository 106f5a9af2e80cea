#include "recorder/engine/detach.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/process_table.h"
#include "recorder/engine/removal.h"
#include "recorder/engine/rest.h"
#include "recorder/engine/resume.h"
#include "recorder/engine/step.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/watch.h"

/* Letting a process go so that nothing of the engine stays in it. Sites may only be lifted when no thread can
 * run into one any more, and a thread may only go when no SIGTRAP of an int3 is left in it: first every
 * thread is brought to a stop and kept there; then the original bytes come back; then all go at once. */

/* TRACEE, which is stopped and is to be kept for the detach: a SIGTRAP of ours that is still in it comes out
 * first. */
static void keep_for_detach(struct tg_tracee *tracee)
{
    int signal = tracee->kept ? tracee->kept_signal : 0;
    bool has_trap = tracee->kept && tg_step_trap_is_pending(tracee);
    tracee->kept = false;
    tracee->step.waiting = false;
    tracee->step.awaited = 0;
    if (has_trap)
        tg_tracee_resume_now(tracee, signal);
    else
        tg_tracee_resume(tracee, signal); /* held */
}

void tg_detach_begin(struct tg_process *process, const char *reason)
{
    struct tg_traced_process *traced = tg_traced(process);
    if (traced->detaching)
        return;
    traced->detaching = true;
    traced->detach_reason = reason;
    process->engine->detach_in_progress = true;
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        struct tg_tracee *tracee = tg_tracee_of(thread);
        tracee->keep_due = false;
        tracee->called_off = true;
        if (tracee->rests) {
            tg_rest_end(tracee);
            continue;
        }
        if (tracee->step.waiting || tracee->kept) {
            keep_for_detach(tracee);
        } else if (tracee->running) {
            ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
        }
    }
}

void tg_engine_release(struct tg_process *process, const char *reason)
{
    tg_detach_begin(process, reason);
}

void tg_engine_make_way(struct tg_process *process, const char *reason)
{
    struct tg_engine *engine = process->engine;
    if (!tg_traced(process)->detaching)
        engine->launched_is_apart |= process->pid == engine->launched_pid;
    tg_detach_begin(process, reason);
}

pid_t tg_engine_launched_apart(const struct tg_engine *engine)
{
    return engine->launched_is_apart ? engine->launched_pid : 0;
}

/* Cannot run code of the program: kept here, past its PTRACE_EVENT_EXIT, or waiting in the kernel for a vfork
 * child (which no interrupt reaches). */
static bool is_quiet(const struct tg_tracee *tracee)
{
    return tracee->held || tracee->exiting || tracee->in_vfork;
}

/* All threads of PROCESS; HELD becomes one that can be worked with. */
static bool process_is_quiet(const struct tg_process *process, struct tg_tracee **held)
{
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        struct tg_tracee *tracee = tg_tracee_of(thread);
        if (!is_quiet(tracee))
            return false;
        if (tracee->held && (*held == NULL || (*held)->exiting))
            *held = tracee;
    }
    return true;
}

/* All threads of all processes that share SPACE. */
static bool space_is_quiet(struct tg_engine *engine, const struct tg_address_space *space)
{
    struct tg_tracee *held = NULL;
    for (struct tg_process *process = engine->processes; process != NULL; process = process->hh.next)
        if (process->space == space && !process_is_quiet(process, &held))
            return false;
    return true;
}

static void let_thread_go(struct tg_tracee *tracee)
{
    tg_watch_disarm(tracee);
    ptrace(PTRACE_DETACH, tracee->thread.tid, NULL, tracee->held_signal);
    tg_tracee_remove(tracee);
}

static void tell_leaving(struct tg_engine *engine, struct tg_tracee *tracee)
{
    tg_observers_process_leaving(tracee, TG_TRIGGER_DETACH);
    struct tg_event event = {.kind = TG_EVENT_DETACH,
                             .detach = {.reason = tg_traced_of(tracee)->detach_reason}};
    tg_engine_emit(engine, &tracee->thread, &event);
}

/* PROCESS's memory is as it was; what cannot go yet (vfork) goes at its next stop. */
static void let_process_go(struct tg_process *process, struct tg_tracee *held)
{
    struct tg_engine *engine = process->engine;
    if (held != NULL && !tg_traced(process)->detach_told) {
        tg_traced(process)->detach_told = true;
        tell_leaving(engine, held);
    }
    bool blocked = false;
    struct tg_thread *thread, *next;
    HASH_ITER (hh, process->threads, thread, next) {
        struct tg_tracee *tracee = tg_tracee_of(thread);
        if (tracee->held)
            let_thread_go(tracee);
        else
            blocked |= !tracee->exiting;
    }
    /* Threads that are exiting cannot be stopped any more: the kernel lets them go with the tracer, or
     * reports them, unknown then. */
    if (!blocked && (held != NULL || process->threads == NULL))
        tg_process_remove(process);
}

void tg_detach_advance(struct tg_engine *engine)
{
    bool left = false;
    struct tg_process *process, *next;
    HASH_ITER (hh, engine->processes, process, next) {
        if (!tg_traced(process)->detaching)
            continue;
        struct tg_tracee *held = NULL;
        left = true;
        if (!process_is_quiet(process, &held) || held == NULL)
            continue;
        if (!tg_process_shares_memory(process)) {
            if (!space_is_quiet(engine, process->space))
                continue;
            tg_address_space_lift(process->space, held->thread.tid);
        }
        let_process_go(process, held);
    }
    engine->detach_in_progress = left;
}
