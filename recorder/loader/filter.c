#include "recorder/engine/own_thread.h"
#include "recorder/loader/events.h"
#include "recorder/loader/in_process.h"
#include "recorder/loader/stops.h"

/* ---- the libraries of a process */

static bool tell_library(const struct tg_loader_process *watched, const struct tg_loaded_object *object,
                         size_t namespace_index,
                         bool (*take)(void *context, const struct tg_loader_library *library), void *context)
{
    const struct tg_loader_library library = {
        .object = tg_loader_process_target(object),
        .namespace_index = (unsigned)namespace_index,
        .deferred = tg_loader_process_waits(watched, object),
    };
    return take(context, &library);
}

void tg_loader_each_library(const struct tg_loader *loader, const struct tg_process *process,
                            bool (*take)(void *context, const struct tg_loader_library *library),
                            void *context)
{
    const struct tg_loader_process *watched = process->data[loader->slot];
    if (watched == NULL || watched->maps == NULL || !watched->started_up)
        return;
    struct tg_loaded_object *program = tg_loader_process_program(watched, tg_process_memory_tid(process));
    bool goes_on = program == NULL || tell_library(watched, program, 0, take, context);
    tg_loaded_object_unref(program);
    for (size_t space = 0; goes_on && space < tg_link_maps_namespaces(watched->maps); space++) {
        for (size_t i = 0; goes_on && i < tg_link_maps_count(watched->maps, space); i++) {
            const struct tg_loaded_object *object = tg_link_maps_at(watched->maps, space, i);
            goes_on = !object->is_library || tell_library(watched, object, space, take, context);
        }
    }
}

/* ---- the setting */

/* Back from fast mode. What was loaded meanwhile is read as soon as r_brk is planted, so that it is not taken
 * for a part of the next event; what is under way shows itself at its next stop. Before the start-up
 * libraries were told the list says nothing yet. */
static void begin_stops(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    bool knows_all = watched->planted;
    watched->startup_only = false;
    watched->wants_stops = true;
    tg_loader_plant(loader, thread);
    if (knows_all || !watched->planted || !watched->started_up || watched->maps == NULL)
        return;
    struct tg_link_delta delta;
    uint64_t start_ns = tg_engine_now_ns(), since_ns = thread->process->previous_stop_ns;
    tg_link_maps_update(watched->maps, thread->tid, TG_LINK_LOOK_WHOLE, &delta);
    tg_loader_tell_changes(loader, thread, &delta, TG_FOUND_CATCH_UP, tg_engine_now_ns() - start_ns,
                           since_ns);
    /* A list that changes while it is read is no problem yet: its next reading tells. */
}

static void end_stops(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    /* `ld.so PROGRAM` has no other stop at which its start-up libraries are found */
    watched->startup_only = watched->loader_is_program && !watched->started_up;
    watched->wants_stops = watched->startup_only;
    if (!watched->wants_stops)
        tg_loader_unplant(loader, thread->process);
}

static bool is_switched(const struct tg_loader_process *watched)
{
    return watched != NULL && !watched->never_stops && !watched->by_agent;
}

/* A program that has not run yet is watched as if it began under this setting. */
static bool begins_anew(struct tg_loader *loader, struct tg_thread *thread)
{
    const struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    bool wants_auditor = loader->filter.mode == TG_FILTER_MEDIUM;
    if (loader->options.launched != TG_LOADER_BY_MODE || loader->options.agent == NULL ||
        thread->process->attached || watched->maps != NULL || watched->in_process == wants_auditor ||
        !tg_agent_injector_renew(loader->options.agent, thread))
        return false;
    tg_loader_unplant(loader, thread->process);
    tg_loader_drop(loader, thread->process);
    tg_loader_begin_watching(loader, thread, false);
    return true;
}

static void switch_process(struct tg_loader *loader, struct tg_thread *thread)
{
    const struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    if (watched == NULL || begins_anew(loader, thread))
        return;
    if (watched->in_process && (watched->started_up || watched->auditor.report != 0))
        tg_loader_in_process_switch(loader, thread);
    else if (!is_switched(watched))
        return;
    else if (loader->filter.mode == TG_FILTER_FAST)
        end_stops(loader, thread);
    else
        begin_stops(loader, thread);
}

static void switch_processes(struct tg_loader *loader)
{
    struct tg_process *next;
    for (struct tg_process *process = tg_engine_first_process(loader->engine); process != NULL;
         process = next) {
        next = process->hh.next;
        struct tg_thread *thread = tg_process_own_thread(process);
        if (thread != NULL)
            switch_process(loader, thread);
    }
}

struct tg_error *tg_loader_set_filter(struct tg_loader *loader, const struct tg_dlopen_filter *filter)
{
    struct tg_dlopen_filter copy;
    struct tg_error *error = tg_dlopen_filter_copy(filter, &copy);
    if (error != NULL)
        return error;
    const struct tg_loader_auditors *auditors = loader->options.auditors;
    tg_dlopen_filter_deinit(&loader->filter);
    loader->filter = copy;
    const struct tg_event event = {
        .kind = TG_EVENT_FILTER_SETTINGS,
        .filter_settings = {.mode = copy.mode, .match = tg_glob_list_text(copy.list)},
    };
    if (auditors != NULL)
        auditors->end_old(auditors->context);
    tg_engine_emit(loader->engine, NULL, &event);
    tg_loader_tell_injector(loader);
    switch_processes(loader);
    if (auditors != NULL)
        auditors->begin_new(auditors->context, &loader->filter);
    return NULL;
}

const struct tg_dlopen_filter *tg_loader_filter(const struct tg_loader *loader)
{
    return &loader->filter;
}
