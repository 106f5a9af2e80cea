#include "recorder/engine/restart.h"

#include "recorder/process/interrupted_call.h"

void tg_restart_wait(struct tg_tracee *tracee)
{
    if (!tg_tracee_load_registers(tracee) || !tg_interrupted_call_restart(&tracee->regs))
        return;
    tracee->regs_changed = true;
    tg_tracee_store_registers(tracee);
}

void tg_restart_wait_of_paused(const struct tg_tracee *tracee)
{
    struct user_regs_struct registers;
    pid_t tid = tracee->thread.tid;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) == 0 && tg_interrupted_call_restart(&registers))
        ptrace(PTRACE_SETREGS, tid, NULL, &registers);
}
