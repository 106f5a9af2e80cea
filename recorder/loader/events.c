#include "recorder/loader/events.h"

#include "recorder/loader/notes.h"

#include <stdlib.h>

enum { FEW_LIBRARIES = 8 }; /* libraries of an event described without asking for memory */

bool tg_loader_has_users(const struct tg_loader *loader)
{
    return tg_user_breakpoints_count(loader->options.breakpoints) > 0 || loader->options.listener != NULL;
}

/* ---- libraries as events */

static void describe(const struct tg_loaded_object *object, bool dependency, struct tg_library *library)
{
    *library = (struct tg_library){
        .path = object->path,
        .build_id = object->build_id,
        .base = object->base,
        .size_bytes = object->size_bytes,
        .link_map = object->link_map,
        .dependency = dependency,
    };
}

/* Marks the objects of an event that were not asked for themselves. At a loader stop only the first one was,
 * and the loader lists it first; events that may hold several loads are sorted out by DT_NEEDED. */
static void mark_dependencies(const struct tg_thread *thread, enum tg_library_found found,
                              struct tg_loaded_object *const *objects, size_t count, bool *dependency)
{
    if (found != TG_FOUND_LOADER) {
        tg_loaded_object_mark_dependencies(thread->tid, thread->process->bits, objects, count, dependency);
        return;
    }
    for (size_t i = 0; i < count; i++)
        dependency[i] = i > 0;
}

/* ---- handling: what a debugger does with a library that is reported, breakpoints above all */

/* Tells the listener, if there is one. */
static void tell_listener(struct tg_loader *loader, struct tg_thread *thread,
                          struct tg_loaded_object *const *objects, size_t count, bool late,
                          uint64_t window_ns)
{
    const struct tg_loader_listener *listener = loader->options.listener;
    struct tg_break_object few[FEW_LIBRARIES];
    if (listener == NULL || listener->handled == NULL)
        return;
    struct tg_break_object *targets = count <= FEW_LIBRARIES ? few : calloc(count, sizeof *targets);
    if (targets == NULL) {
        tg_loader_lose(loader, thread, "out of memory: breakpoints in some libraries are not planted");
        return;
    }
    for (size_t i = 0; i < count; i++)
        targets[i] = tg_loader_process_target(objects[i]);
    const struct tg_loader_handled handled = {
        .objects = targets, .count = count, .late = late, .window_ns = window_ns};
    listener->handled(listener->context, thread, &handled);
    if (targets != few)
        free(targets);
}

/* Returns the time that it took. */
static uint64_t handle_at_once(struct tg_loader *loader, struct tg_thread *thread,
                               const struct tg_loader_load *load)
{
    if (!tg_loader_has_users(loader))
        return 0;
    uint64_t start_ns = tg_engine_now_ns();
    for (size_t i = 0; i < load->count; i++) {
        struct tg_break_object target = tg_loader_process_target(load->objects[i]);
        tg_user_breakpoints_plant(loader->options.breakpoints, thread, &target, 1, false, 0);
    }
    tell_listener(loader, thread, load->objects, load->count, false, 0);
    return tg_engine_now_ns() - start_ns;
}

uint64_t tg_loader_handle_late(struct tg_loader *loader, struct tg_thread *thread,
                               const struct tg_waiting_library *waiting, size_t count)
{
    if (!tg_loader_has_users(loader) || count == 0)
        return 0;
    uint64_t start_ns = tg_engine_now_ns(), longest_ns = 0;
    struct tg_loaded_object **objects = calloc(count, sizeof(struct tg_loaded_object *));
    for (size_t i = 0; i < count; i++) {
        uint64_t now_ns = tg_engine_now_ns(), since_ns = waiting[i].since_ns;
        uint64_t window_ns = since_ns < now_ns ? now_ns - since_ns : 0;
        struct tg_break_object target = tg_loader_process_target(waiting[i].object);
        tg_user_breakpoints_plant(loader->options.breakpoints, thread, &target, 1, true, window_ns);
        longest_ns = window_ns > longest_ns ? window_ns : longest_ns;
        if (objects != NULL)
            objects[i] = waiting[i].object;
    }
    if (objects != NULL)
        tell_listener(loader, thread, objects, count, true, longest_ns);
    else
        tg_loader_lose(loader, thread, "out of memory: breakpoints in some libraries are not planted");
    free(objects);
    return tg_engine_now_ns() - start_ns;
}

/* ---- load events */

/* Emits the event without its handling time; the copy that the engine keeps is in *KEPT (NULL: it was
 * lost). */
static void emit_load(struct tg_loader *loader, struct tg_thread *thread, const struct tg_loader_load *load,
                      struct tg_library *libraries, struct tg_event **kept)
{
    bool few[FEW_LIBRARIES];
    bool *dependency = load->count <= FEW_LIBRARIES ? few : calloc(load->count, sizeof *dependency);
    if (dependency == NULL) {
        tg_loader_lose(loader, thread, "out of memory for a library event");
        *kept = NULL;
        return;
    }
    bool sorts_out = load->found != TG_FOUND_LOADER;
    uint64_t start_ns = sorts_out ? tg_engine_now_ns() : 0;
    mark_dependencies(thread, load->found, load->objects, load->count, dependency);
    uint64_t read_ns = load->read_ns + (sorts_out ? tg_engine_now_ns() - start_ns : 0);
    for (size_t i = 0; i < load->count; i++)
        describe(load->objects[i], dependency[i], &libraries[i]);
    if (dependency != few)
        free(dependency);
    struct tg_event event = {
        .kind = TG_EVENT_LIBRARY_LOAD,
        .library_load = {.found = load->found,
                         .namespace_index = load->namespace_index,
                         .state = load->state,
                         .read_ns = read_ns,
                         .libraries = {.items = libraries, .count = load->count}},
    };
    *kept = tg_engine_emit(loader->engine, thread, &event);
}

/* ---- waiting libraries */

static void miss(struct tg_loader *loader, const struct tg_loaded_object *object, enum tg_break_miss why)
{
    const struct tg_break_object target = tg_loader_process_target(object);
    tg_user_breakpoints_miss(loader->options.breakpoints, &target, why);
}

void tg_loader_drop(struct tg_loader *loader, struct tg_process *process)
{
    struct tg_loader_process *watched = process->data[loader->slot];
    for (size_t i = 0; watched != NULL && watched->references == 1 && i < watched->n_waiting; i++)
        miss(loader, watched->waiting[i].object, TG_BREAK_MISS_ENDED);
    tg_loader_process_unref(watched);
    process->data[loader->slot] = NULL;
}

void tg_loader_handle_waiting(struct tg_loader *loader, struct tg_thread *thread,
                              enum tg_stop_trigger trigger, bool final)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    uint64_t libraries = watched->n_waiting + watched->n_unread;
    if (libraries == 0) {
        tg_loader_process_drop_waiting(watched);
        return;
    }
    struct tg_event event = {
        .kind = TG_EVENT_DEFERRED_HANDLED,
        .deferred_handled = {.trigger = trigger, .events = watched->waiting_events, .libraries = libraries},
    };
    struct tg_event *kept = tg_engine_emit(loader->engine, thread, &event);
    struct tg_waiting_libraries waiting = tg_loader_process_take_waiting(watched);
    for (size_t i = 0; final && i < waiting.count; i++)
        miss(loader, waiting.items[i].object, TG_BREAK_MISS_ENDED);
    uint64_t handle_ns = final ? 0 : tg_loader_handle_late(loader, thread, waiting.items, waiting.count);
    tg_waiting_libraries_free(&waiting);
    if (kept != NULL)
        kept->deferred_handled.handle_ns = handle_ns;
}

/* The filter's word on a load event, and what follows from it. */
static void decide(struct tg_loader *loader, struct tg_thread *thread, const struct tg_loader_load *load,
                   const struct tg_library *libraries, struct tg_event *kept, uint64_t since_ns)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    const struct tg_list list = {.items = libraries, .count = load->count};
    struct tg_event event = {
        .kind = TG_EVENT_FILTER_DECISION,
        .filter_decision = {.decision = TG_DECISION_NOT_STOPPED, .rule = TG_RULE_NO_STOP},
    };
    if (load->found == TG_FOUND_LOADER)
        event.filter_decision = tg_dlopen_filter_decide(&loader->filter, &list);
    tg_engine_emit(loader->engine, thread, &event);
    if (event.filter_decision.decision != TG_DECISION_REPORTED) {
        if (!tg_loader_process_wait(watched, load->objects, load->count, since_ns))
            tg_loader_lose(loader, thread,
                           "out of memory: breakpoints in deferred libraries are not planted");
        return;
    }
    uint64_t handle_ns = handle_at_once(loader, thread, load);
    if (kept != NULL)
        kept->library_load.handle_ns = handle_ns;
    tg_loader_handle_waiting(loader, thread, TG_TRIGGER_REPORTED_EVENT, false);
}

/* The agent reports the load; breakpoints in it are ours to plant. */
static void handle_untold(struct tg_loader *loader, struct tg_thread *thread,
                          const struct tg_loader_load *load, uint64_t since_ns)
{
    if (load->found == TG_FOUND_STARTUP)
        handle_at_once(loader, thread, load);
    else if (!tg_loader_process_wait(tg_loader_watched(loader, thread), load->objects, load->count, since_ns))
        tg_loader_lose(loader, thread, "out of memory: breakpoints in some libraries are not planted");
}

/* SINCE_NS: from when on the program could use the libraries. */
void tg_loader_tell_load(struct tg_loader *loader, struct tg_thread *thread,
                         const struct tg_loader_load *load, uint64_t since_ns)
{
    if (load->count == 0)
        return;
    /* stops at which the auditor asks are told here, and found as loader stops are */
    if (tg_loader_watched(loader, thread)->by_agent && load->found != TG_FOUND_LOADER) {
        handle_untold(loader, thread, load, since_ns);
        return;
    }
    struct tg_library few[FEW_LIBRARIES];
    struct tg_library *libraries =
        load->count <= FEW_LIBRARIES ? few : calloc(load->count, sizeof *libraries);
    struct tg_event *kept = NULL;
    if (libraries == NULL) {
        tg_loader_lose(loader, thread, "out of memory for a library event");
        return;
    }
    emit_load(loader, thread, load, libraries, &kept);
    if (load->found == TG_FOUND_STARTUP || load->found == TG_FOUND_ATTACH) {
        /* no dlopen event: every debugger handles them, in every mode */
        uint64_t handle_ns = handle_at_once(loader, thread, load);
        if (kept != NULL)
            kept->library_load.handle_ns = handle_ns;
    } else {
        decide(loader, thread, load, libraries, kept, since_ns);
    }
    if (libraries != few)
        free(libraries);
}

void tg_loader_drop_object(struct tg_loader *loader, struct tg_thread *thread,
                           const struct tg_loaded_object *object)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    const struct tg_loader_listener *listener = loader->options.listener;
    if (tg_loader_process_waits(watched, object))
        miss(loader, object, TG_BREAK_MISS_CLOSED);
    tg_loader_process_forget(watched, object);
    if (object->base == watched->loader_base)
        return; /* the loader's entry in another namespace: it itself never goes */
    struct tg_break_object target = tg_loader_process_target(object);
    tg_user_breakpoints_unload(loader->options.breakpoints, thread, &target, 1);
    if (listener != NULL && listener->unloaded != NULL)
        listener->unloaded(listener->context, thread, &target);
    if (object->size_bytes > 0) /* internal ones, of whoever else planted there */
        tg_breakpoint_forget_range(thread->process, object->base, object->base + object->size_bytes);
}

static void tell_unload(struct tg_loader *loader, struct tg_thread *thread,
                        const struct tg_link_change *change, enum tg_library_found found)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    struct tg_library *libraries = calloc(change->n_removed, sizeof *libraries);
    if (libraries == NULL)
        tg_loader_lose(loader, thread, "out of memory for an unload event");
    for (size_t i = 0; libraries != NULL && i < change->n_removed; i++)
        describe(change->removed[i], false, &libraries[i]);
    struct tg_event event = {
        .kind = TG_EVENT_LIBRARY_UNLOAD,
        .library_unload = {.found = found,
                           .namespace_index = change->namespace_index,
                           .state = change->state,
                           .libraries = {.items = libraries, .count = change->n_removed}},
    };
    if (libraries != NULL && !watched->by_agent)
        tg_engine_emit(loader->engine, thread, &event);
    free(libraries);
    for (size_t i = 0; i < change->n_removed; i++)
        tg_loader_drop_object(loader, thread, change->removed[i]);
}

void tg_loader_tell_changes(struct tg_loader *loader, struct tg_thread *thread,
                            const struct tg_link_delta *delta, enum tg_library_found found, uint64_t read_ns,
                            uint64_t since_ns)
{
    for (size_t i = 0; i < delta->n_changes; i++) {
        if (delta->changes[i].n_removed > 0)
            tell_unload(loader, thread, &delta->changes[i], found);
    }
    for (size_t i = 0; i < delta->n_changes; i++) {
        const struct tg_link_change *change = &delta->changes[i];
        struct tg_loader_load load = {.found = found,
                                      .namespace_index = change->namespace_index,
                                      .state = change->state,
                                      .read_ns = read_ns,
                                      .objects = change->added,
                                      .count = change->n_added};
        tg_loader_tell_load(loader, thread, &load, since_ns);
        if (change->n_added > 0)
            read_ns = 0; /* one reading; its time is on the first event */
    }
}
