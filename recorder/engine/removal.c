#include "recorder/engine/removal.h"
#include "recorder/engine/address_space.h"
#include "recorder/engine/attach_guard.h"
#include "recorder/engine/observers.h"
#include "recorder/engine/step.h"
#include "recorder/engine/tracee.h"

#include <stdlib.h>

void tg_tracee_remove(struct tg_tracee *tracee)
{
    struct tg_process *process = tracee->thread.process;
    struct tg_engine *engine = process->engine;
    struct tg_thread *thread = &tracee->thread;
    tg_step_drop(tracee);
    if (engine->current == tracee)
        engine->current = NULL;
    HASH_DEL(process->threads, thread);
    HASH_DELETE(by_tid, engine->tracees, tracee);
    free(tracee);
}

void tg_process_remove(struct tg_process *process)
{
    struct tg_engine *engine = process->engine;
    if (tg_traced(process)->started)
        tg_observers_process_ended(process);
    struct tg_thread *thread, *next;
    HASH_ITER (hh, process->threads, thread, next)
        tg_tracee_remove(tg_tracee_of(thread));
    HASH_DEL(engine->processes, process);
    pid_t pid = process->pid;
    if (engine->guard != NULL)
        tg_attach_guard_remove(engine->guard, tg_traced(process)->guarded);
    tg_address_space_unref(process->space);
    free(tg_traced(process));
    tg_step_process_gone(engine, pid);
}
