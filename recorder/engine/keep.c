#include "recorder/engine/keep.h"
#include "recorder/engine/address_space.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/tracee.h"
#include "recorder/engine/watch.h"

bool tg_keep_has_waiting_parent(struct tg_tracee *tracee)
{
    const struct tg_process *process = tracee->thread.process;
    if (tg_traced_of(tracee)->origin != TG_ORIGIN_VFORK || process->space->references == 1)
        return false;
    for (struct tg_process *other = process->engine->processes; other != NULL; other = other->hh.next)
        if (other != process && other->space == process->space)
            return true;
    return false;
}

bool tg_keep_is_due(struct tg_tracee *tracee)
{
    return tracee->keep_due && !tg_keep_has_waiting_parent(tracee);
}

bool tg_keep_instead(struct tg_tracee *tracee, int signal, bool listening)
{
    if (tracee->step.active || !tg_keep_is_due(tracee))
        return false;
    tg_tracee_store_registers(tracee);
    tracee->keep_due = false;
    tracee->stepping = false;
    tracee->kept = true;
    tracee->kept_signal = signal;
    tracee->kept_listening = listening;
    if (tracee->thread.process->attached) /* the process may outlive us */
        tg_watch_disarm(tracee);
    tg_observers_kept(tracee);
    return true;
}

void tg_keep_tell_halted(struct tg_tracee *tracee)
{
    if (tracee->keep_due && !tg_traced_of(tracee)->detaching)
        tg_observers_halted(tracee);
}

bool tg_keep_step_ended(struct tg_tracee *tracee)
{
    if (!tracee->stepping)
        return false;
    tracee->stepping = false;
    if (!tracee->called_off) {
        tracee->keep_due = true;
        tg_keep_tell_halted(tracee);
    }
    return true;
}

/* The trap that this asks for comes before the thread runs anything. */
bool tg_keep_step_emulated(struct tg_tracee *tracee)
{
    bool steps = tracee->stepping && !tracee->called_off && !tg_traced_of(tracee)->detaching;
    if (steps) {
        tracee->stepping = false;
        tracee->keep_due = true;
        tracee->halt_due = true;
        ptrace(PTRACE_INTERRUPT, tracee->thread.tid, NULL, NULL);
    }
    return steps;
}
