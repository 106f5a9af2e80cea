#include "recorder/engine/tracee.h"

void tg_tracee_mark_stopped(struct tg_tracee *tracee)
{
    tracee->running = false;
    tracee->n_stops++;
    tracee->in_vfork = false;
    tracee->regs_valid = false;
    tracee->regs_changed = false;
    tracee->along_valid = false;
    tracee->trapped_at = 0;
    tracee->comes_again = false;
    if (!tracee->keep_due) /* or the thread is yet to be kept for it */
        tracee->thread.reason = (struct tg_stop_reason){0};
    tracee->step.ended_now = false;
    tracee->kept = false; /* a new stop of a thread that was kept: it was killed, or is ended by an exec */
}

uint64_t tg_thread_stop_number(struct tg_thread *thread)
{
    return tg_tracee_of(thread)->n_stops;
}

bool tg_tracee_load_registers(struct tg_tracee *tracee)
{
    if (!tracee->regs_valid)
        tracee->regs_valid = ptrace(PTRACE_GETREGS, tracee->thread.tid, NULL, &tracee->regs) == 0;
    if (tracee->regs_valid && tracee->trapped_at != 0) {
        tracee->regs.rip = tracee->trapped_at;
        tracee->regs_changed = true;
        tracee->trapped_at = 0;
    }
    return tracee->regs_valid;
}

void tg_tracee_store_registers(struct tg_tracee *tracee)
{
    if (tracee->regs_changed)
        ptrace(PTRACE_SETREGS, tracee->thread.tid, NULL, &tracee->regs);
    tracee->regs_changed = false;
}

bool tg_thread_set_registers(struct tg_thread *thread, const struct user_regs_struct *registers)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    if (!tg_tracee_load_registers(tracee))
        return false;
    tracee->regs = *registers;
    return ptrace(PTRACE_SETREGS, thread->tid, NULL, &tracee->regs) == 0;
}

const struct user_regs_struct *tg_thread_registers(struct tg_thread *thread)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    return tg_tracee_load_registers(tracee) ? &tracee->regs : NULL;
}

bool tg_thread_real_registers(struct tg_thread *thread, struct user_fpregs_struct *registers)
{
    return ptrace(PTRACE_GETFPREGS, thread->tid, NULL, registers) == 0;
}

bool tg_thread_set_stack(struct tg_thread *thread, uint64_t address)
{
    struct tg_tracee *tracee = tg_tracee_of(thread);
    if (!tg_tracee_load_registers(tracee))
        return false;
    tracee->regs.rsp = address;
    tracee->regs_changed = true;
    return true;
}
