#include "recorder/engine/observers.h"

#include <assert.h>

#include "format/base/array.h"

struct tg_error *tg_engine_add_observer(struct tg_engine *engine, const struct tg_observer *observer,
                                        size_t *slot)
{
    assert(engine->processes == NULL); /* data of processes has as many slots as there were observers */
    if (slot != NULL)
        *slot = engine->n_observers;
    return TG_ARRAY_APPEND(engine->observers, engine->n_observers, engine->observers_capacity, observer);
}

/* Calls CALLBACK of each observer that has one, with its context and what follows. */
#define TELL(engine, callback, ...)                                                                          \
    for (size_t i = 0; i < (engine)->n_observers; i++)                                                       \
        if ((engine)->observers[i]->callback != NULL)                                                        \
    (engine)->observers[i]->callback((engine)->observers[i]->context, __VA_ARGS__)

static struct tg_engine *engine_of(const struct tg_tracee *tracee)
{
    return tracee->thread.process->engine;
}

void tg_observers_process_started(struct tg_tracee *tracee, struct tg_process *parent)
{
    TELL(engine_of(tracee), process_started, &tracee->thread, tg_traced_of(tracee)->origin, parent);
}

void tg_observers_launching(struct tg_engine *engine, pid_t pid)
{
    TELL(engine, launching, pid);
}

void tg_observers_program_loaded(struct tg_tracee *tracee, bool attached)
{
    TELL(engine_of(tracee), program_loaded, &tracee->thread, attached);
}

void tg_observers_stopped(struct tg_tracee *tracee, enum tg_stop_trigger trigger, int signal)
{
    struct tg_engine *engine = engine_of(tracee);
    struct tg_stop stop = {.trigger = trigger, .time_ns = engine->stop_time_ns, .signal = signal};
    TELL(engine, stopped, &tracee->thread, &stop);
}

void tg_observers_halted(struct tg_tracee *tracee)
{
    TELL(engine_of(tracee), halted, &tracee->thread);
}

void tg_observers_kept(struct tg_tracee *tracee)
{
    struct tg_engine *engine = engine_of(tracee);
    const struct tg_stop_reason reason = tracee->thread.reason;
    tracee->thread.reason = (struct tg_stop_reason){0};
    for (size_t i = 0; i < engine->n_observers && tracee->kept; i++)
        if (engine->observers[i]->kept != NULL)
            engine->observers[i]->kept(engine->observers[i]->context, &tracee->thread, &reason);
}

void tg_observers_process_leaving(struct tg_tracee *tracee, enum tg_stop_trigger trigger)
{
    TELL(engine_of(tracee), process_leaving, &tracee->thread, trigger);
}

void tg_observers_job_leaving(struct tg_engine *engine)
{
    for (size_t i = 0; i < engine->n_observers; i++)
        if (engine->observers[i]->job_leaving != NULL)
            engine->observers[i]->job_leaving(engine->observers[i]->context);
}

void tg_observers_process_ended(struct tg_process *process)
{
    TELL(process->engine, process_ended, process);
}
