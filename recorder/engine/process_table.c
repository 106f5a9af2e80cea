#include "recorder/engine/process_table.h"
#include "format/base/hash.h"
#include "recorder/engine/attach_guard.h"
#include "recorder/engine/tracee.h"

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
    struct tg_thread *thread = &tracee->thread;
    if (TG_HASH_ADD(hh, process->threads, tid, thread) == NULL) {
        if (TG_HASH_ADD(by_tid, engine->tracees, thread.tid, tracee) == NULL)
            return tracee;
        HASH_DEL(process->threads, thread);
    }
    free(tracee);
    return NULL;
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

struct tg_process *tg_engine_first_process(struct tg_engine *engine)
{
    return engine->processes;
}

struct tg_process *tg_process_add(struct tg_engine *engine, pid_t pid, enum tg_process_origin origin,
                                  struct tg_address_space *space)
{
    struct tg_traced_process *traced = calloc(1, sizeof *traced + engine->n_observers * sizeof *traced->data);
    if (traced == NULL)
        return NULL;
    struct tg_process *process = &traced->process;
    process->pid = pid;
    process->engine = engine;
    process->data = traced->data;
    process->space = space;
    traced->origin = origin;
    traced->guarded = SIZE_MAX;
    if (TG_HASH_ADD(hh, engine->processes, pid, process) != NULL) {
        free(traced);
        return NULL;
    }
    if (engine->guard != NULL)
        traced->guarded = tg_attach_guard_add(engine->guard, pid);
    return process;
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

bool tg_process_shares_memory(const struct tg_process *process)
{
    for (struct tg_process *other = process->engine->processes; other != NULL; other = other->hh.next)
        if (other->space == process->space && !tg_traced(other)->detaching)
            return true;
    return false;
}
