#include "recorder/engine/resume.h"
#include "recorder/engine/keep.h"
#include "recorder/engine/stop.h"
#include "recorder/engine/watch.h"

/* ESRCH is normal in all of these: SIGKILL ends a ptrace-stop at any time; the end will be reported. */
void tg_tracee_resume_now(struct tg_tracee *tracee, int signal)
{
    struct tg_engine *engine = tracee->thread.process->engine;
    tg_tracee_store_registers(tracee);
    tg_watch_arm(tracee);
    if (tracee == engine->current && engine->stop_events.first != NULL)
        engine->resume_time_ns = tg_engine_now_ns();
    tracee->running = true;
    tracee->listening = false;
    bool steps = tracee->step.active ? !tracee->step.insn.runs_to_trap : tracee->stepping;
    ptrace(steps ? PTRACE_SINGLESTEP : PTRACE_CONT, tracee->thread.tid, NULL, signal);
}

void tg_tracee_resume(struct tg_tracee *tracee, int signal)
{
    if (tracee->called_off && !tracee->step.active)
        tracee->stepping = false; /* the instruction has not run, and need not any more */
    if (!tg_traced_of(tracee)->detaching) {
        if (!tg_keep_instead(tracee, signal, false))
            tg_tracee_resume_now(tracee, signal);
        return;
    }
    tg_tracee_store_registers(tracee);
    tracee->held = true;
    tracee->held_signal = signal;
}

void tg_tracee_listen(struct tg_tracee *tracee)
{
    struct tg_engine *engine = tracee->thread.process->engine;
    if (tg_traced_of(tracee)->detaching) {
        tg_tracee_resume(tracee, 0); /* held; the detach leaves the group-stop as it is */
        return;
    }
    if (tg_keep_instead(tracee, 0, true))
        return;
    tg_tracee_store_registers(tracee);
    if (engine->stop_events.first != NULL)
        engine->resume_time_ns = tg_engine_now_ns();
    tracee->listening = true;
    tracee->running = true;
    ptrace(PTRACE_LISTEN, tracee->thread.tid, NULL, NULL);
}
