#include "recorder/openmp/breakpoints.h"

#include "recorder/openmp/calls.h"
#include "recorder/openmp/runtime.h"

#include <stdlib.h>

struct tg_openmp_breakpoints {
    struct tg_openmp_calls calls;
    struct tg_openmp_breakpoints_options options;
    struct tg_observer observer;
};

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct tg_openmp_breakpoints *breakpoints = context;
    struct tg_openmp_process *process = tg_openmp_calls_process(&breakpoints->calls, thread);
    if (process == NULL || thread->process->bits != 64)
        return;
    if (stop->trigger == TG_TRIGGER_ENTRY)
        process->wanted = breakpoints->options.wanted == NULL ||
                          breakpoints->options.wanted(breakpoints->options.context, thread->process);
    /* a runtime that comes late shows when it makes its threads */
    if (stop->trigger == TG_TRIGGER_ENTRY || stop->trigger == TG_TRIGGER_THREAD)
        tg_openmp_runtime_look(&breakpoints->calls, breakpoints->options.images, thread);
    if (stop->trigger == TG_TRIGGER_EXIT)
        tg_openmp_process_end_thread(process, thread->tid);
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_openmp_breakpoints *breakpoints = context;
    void **data = &thread->process->data[breakpoints->calls.slot];
    tg_openmp_process_destroy(*data);
    *data = attached ? NULL : tg_openmp_process_create();
}

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    struct tg_openmp_breakpoints *breakpoints = context;
    struct tg_openmp_process *old = parent == NULL ? NULL : parent->data[breakpoints->calls.slot];
    const struct tg_thread *forking = tg_engine_stopped_thread(breakpoints->calls.engine);
    if (old == NULL || origin != TG_ORIGIN_FORK || thread->process->space == parent->space)
        return; /* a process that shares memory is not watched: it is about to exec */
    thread->process->data[breakpoints->calls.slot] =
        tg_openmp_process_copy(old, forking == NULL ? 0 : forking->tid, thread->tid);
}

static void process_ended(void *context, struct tg_process *process)
{
    struct tg_openmp_breakpoints *breakpoints = context;
    tg_openmp_process_destroy(process->data[breakpoints->calls.slot]);
    process->data[breakpoints->calls.slot] = NULL;
}

struct tg_error *tg_openmp_breakpoints_create(struct tg_engine *engine,
                                              const struct tg_openmp_breakpoints_options *options,
                                              struct tg_openmp_breakpoints **breakpoints)
{
    struct tg_openmp_breakpoints *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->calls.engine = engine;
    made->options = *options;
    made->observer = (struct tg_observer){
        .name = "openmp",
        .context = made,
        .process_started = process_started,
        .program_loaded = program_loaded,
        .stopped = stopped,
        .process_ended = process_ended,
    };
    struct tg_error *error = tg_engine_add_observer(engine, &made->observer, &made->calls.slot);
    if (error != NULL) {
        tg_openmp_breakpoints_destroy(made);
        return error;
    }
    *breakpoints = made;
    return NULL;
}

void tg_openmp_breakpoints_destroy(struct tg_openmp_breakpoints *breakpoints)
{
    free(breakpoints);
}
