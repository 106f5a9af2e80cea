#include "recorder/loader/events.h"
#include "recorder/loader/in_process.h"
#include "recorder/loader/notes.h"
#include "recorder/loader/stops.h"

#include <stdlib.h>

/* The parent is stopped in its fork, a stop like any other: what waits there is handled before the child
 * gets its copy. The child's memory was copied before that, so the same is planted in the child. */
static void settle_parent(struct tg_loader *loader, struct tg_thread *child,
                          struct tg_loader_process *of_parent)
{
    struct tg_thread *forking = tg_engine_stopped_thread(loader->engine);
    if (forking == NULL || tg_loader_watched(loader, forking) != of_parent)
        return;
    if (of_parent->in_process && of_parent->started_up)
        tg_loader_in_process_look(loader, forking, false);
    struct tg_loader_process *before = tg_loader_process_copy(of_parent);
    tg_loader_at_other_stop(loader, forking, TG_TRIGGER_FORK, false);
    if (before != NULL)
        tg_loader_handle_late(loader, child, before->waiting, before->n_waiting);
    tg_loader_process_unref(before);
}

static void process_started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    (void)origin;
    struct tg_loader *loader = context;
    struct tg_process *process = thread->process;
    struct tg_loader_process *of_parent = parent != NULL ? parent->data[loader->slot] : NULL;
    process->data[loader->slot] = NULL;
    if (of_parent == NULL)
        return;
    if (process->space == parent->space) {
        process->data[loader->slot] = tg_loader_process_ref(of_parent);
        return;
    }
    settle_parent(loader, thread, of_parent);
    process->data[loader->slot] = tg_loader_process_copy(of_parent);
    if (process->data[loader->slot] == NULL)
        tg_loader_lose(loader, thread, "out of memory: the libraries of this process are not recorded");
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_loader *loader = context;
    tg_loader_drop(loader, thread->process);
    tg_loader_begin_watching(loader, thread, attached);
}

/* The last thread is about to go: nothing can be planted in time any more, but the trace is to be
 * complete. */
static bool is_last_stop(const struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    return trigger == TG_TRIGGER_EXIT && HASH_COUNT(thread->process->threads) == 1;
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    tg_loader_at_other_stop(context, thread, stop->trigger, is_last_stop(thread, stop->trigger));
}

static void halted(void *context, struct tg_thread *thread)
{
    tg_loader_at_other_stop(context, thread, TG_TRIGGER_HALT, false);
}

static void process_leaving(void *context, struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    tg_loader_at_other_stop(context, thread, trigger, true);
}

static void process_ended(void *context, struct tg_process *process)
{
    tg_loader_drop(context, process);
}

struct tg_error *tg_loader_create(struct tg_engine *engine, const struct tg_loader_options *options,
                                  struct tg_loader **loader)
{
    struct tg_loader *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->options = *options;
    struct tg_error *error = tg_dlopen_filter_copy(options->filter, &made->filter);
    if (error != NULL) {
        free(made);
        return error;
    }
    if (options->auditors != NULL)
        options->auditors->begin_new(options->auditors->context, &made->filter);
    made->observer = (struct tg_observer){
        .name = "loader",
        .context = made,
        .process_started = process_started,
        .program_loaded = program_loaded,
        .stopped = stopped,
        .halted = halted,
        .process_leaving = process_leaving,
        .process_ended = process_ended,
    };
    error = tg_engine_add_observer(engine, &made->observer, &made->slot);
    if (error != NULL) {
        tg_loader_destroy(made);
        return error;
    }
    tg_loader_tell_injector(made);
    *loader = made;
    return NULL;
}

void tg_loader_destroy(struct tg_loader *loader)
{
    if (loader == NULL)
        return;
    tg_dlopen_filter_deinit(&loader->filter);
    free(loader);
}
