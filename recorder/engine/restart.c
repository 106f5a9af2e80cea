#include "recorder/engine/restart.h"

#include "recorder/process/interrupted_call.h"

void tg_restart_wait(struct tg_tracee *tracee)
{
    if (tracee->thread.process->bits == 32 || !tg_tracee_load_registers(tracee))
        return;
    if (tg_interrupted_call_restart(&tracee->regs))
        tracee->regs_changed = true;
}
