#include "recorder/engine/engine_internal.h"

#include <stdlib.h>

struct tg_tracee *tg_tracee_find(struct tg_engine *engine, pid_t tid)
{
    struct tg_tracee *tracee;
    HASH_FIND(by_tid, engine->tracees, &tid, sizeof tid, tracee);
    return tracee;
}

struct tg_tracee *tg_tracee_add(struct tg_process *process, pid_t tid)
{
    struct tg_engine *engine = process->engine;
    struct tg_tracee *tracee = calloc(1, sizeof *tracee);
    if (tracee == NULL)
        return NULL;
    tracee->thread.tid = tid;
    tracee->thread.process = process;
    tracee->running = true;
    struct tg_thread *thread = &tracee->thread, *in_process;
    HASH_ADD(hh, process->threads, tid, sizeof tid, thread);
    HASH_FIND(hh, process->threads, &tid, sizeof tid, in_process);
    HASH_ADD(by_tid, engine->tracees, thread.tid, sizeof tid, tracee);
    if (in_process == thread && tg_tracee_find(engine, tid) == tracee)
        return tracee;
    if (in_process == thread)
        HASH_DEL(process->threads, thread);
    if (tg_tracee_find(engine, tid) == tracee)
        HASH_DELETE(by_tid, engine->tracees, tracee);
    free(tracee);
    return NULL;
}

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

struct tg_process *tg_process_find(struct tg_engine *engine, pid_t pid)
{
    struct tg_process *process;
    HASH_FIND(hh, engine->processes, &pid, sizeof pid, process);
    return process;
}

struct tg_thread *tg_process_find_thread(const struct tg_process *process, pid_t tid)
{
    struct tg_thread *thread = NULL;
    HASH_FIND(hh, process->threads, &tid, sizeof tid, thread);
    return thread;
}

struct tg_process *tg_engine_find_process(struct tg_engine *engine, pid_t pid)
{
    return tg_process_find(engine, pid);
}

struct tg_process *tg_process_add(struct tg_engine *engine, pid_t pid, enum tg_process_origin origin,
                                  struct tg_address_space *space)
{
    struct tg_traced_process *traced = calloc(1, sizeof *traced);
    if (traced == NULL)
        return NULL;
    struct tg_process *process = &traced->process;
    process->pid = pid;
    process->engine = engine;
    process->space = space;
    traced->origin = origin;
    traced->guarded = SIZE_MAX;
    HASH_ADD(hh, engine->processes, pid, sizeof pid, process);
    if (tg_process_find(engine, pid) != process) {
        free(traced);
        return NULL;
    }
    if (engine->guard != NULL)
        traced->guarded = tg_attach_guard_add(engine->guard, pid);
    return process;
}

void tg_process_remove(struct tg_process *process)
{
    struct tg_engine *engine = process->engine;
    if (tg_traced(process)->started)
        for (unsigned i = 0; i < engine->n_observers; i++)
            if (engine->observers[i]->process_ended != NULL)
                engine->observers[i]->process_ended(engine->observers[i]->context, process);
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

bool tg_parked_add(struct tg_engine *engine, pid_t tid, int status)
{
    struct tg_parked_stop *parked;
    HASH_FIND(hh, engine->parked, &tid, sizeof tid, parked);
    if (parked == NULL) {
        parked = calloc(1, sizeof *parked);
        if (parked == NULL)
            return false;
        parked->tid = tid;
        HASH_ADD(hh, engine->parked, tid, sizeof tid, parked);
        struct tg_parked_stop *found;
        HASH_FIND(hh, engine->parked, &tid, sizeof tid, found);
        if (found != parked) {
            free(parked);
            return false;
        }
    }
    parked->status = status;
    parked->since_ns = tg_engine_now_ns();
    return true;
}

bool tg_parked_take(struct tg_engine *engine, pid_t tid, int *status)
{
    struct tg_parked_stop *parked;
    HASH_FIND(hh, engine->parked, &tid, sizeof tid, parked);
    if (parked == NULL)
        return false;
    *status = parked->status;
    HASH_DEL(engine->parked, parked);
    free(parked);
    return true;
}

pid_t tg_parked_known(struct tg_engine *engine)
{
    for (struct tg_parked_stop *parked = engine->parked; parked != NULL; parked = parked->hh.next)
        if (tg_tracee_find(engine, parked->tid) != NULL)
            return parked->tid;
    return 0;
}

struct tg_process *tg_engine_first_process(struct tg_engine *engine)
{
    return engine->processes;
}

pid_t tg_process_memory_tid(const struct tg_process *process)
{
    struct tg_tracee *current = process->engine->current;
    if (current != NULL && current->thread.process->space == process->space)
        return current->thread.tid;
    pid_t running = 0;
    for (struct tg_thread *thread = process->threads; thread != NULL; thread = thread->hh.next) {
        struct tg_tracee *tracee = tg_tracee_of(thread);
        if (!tracee->exiting && !tracee->running)
            return thread->tid;
        if (!tracee->exiting)
            running = thread->tid;
    }
    return running;
}
