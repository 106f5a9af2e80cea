#include "recorder/loader.h"

#include "recorder/link_map.h"
#include "recorder/loader_process.h"
#include "recorder/rendezvous.h"

#include <stdio.h>
#include <stdlib.h>

enum { FEW_LIBRARIES = 8 }; /* of an event, described without asking for memory */

struct tg_loader {
    struct tg_engine *engine;
    struct tg_loader_options options;
    struct tg_observer observer;
    unsigned slot;
};

static struct tg_loader_process *watched_of(const struct tg_loader *loader, const struct tg_thread *thread)
{
    return thread->process->data[loader->slot];
}

static void note(struct tg_loader *loader, struct tg_thread *thread, const char *text)
{
    struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    tg_engine_emit(loader->engine, thread, &event);
}

static void lose(struct tg_loader *loader, struct tg_thread *thread, const char *reason)
{
    struct tg_event event = {.kind = TG_EVENT_LOSS, .loss = {.source = TG_LOSS_TARGET, .reason = reason}};
    tg_engine_emit(loader->engine, thread, &event);
}

/* One loss event for each kind of problem of a process: at a stop of another reason a list may be in the
 * middle of a change, which is no loss, because it is read again. */
static void tell_problem(struct tg_loader *loader, struct tg_thread *thread,
                         struct tg_loader_process *watched, const struct tg_link_delta *delta,
                         bool loader_stop)
{
    if (delta->problem == NULL || (!loader_stop && delta->state != TG_LINK_CONSISTENT) ||
        watched->problem_told == delta->problem)
        return;
    watched->problem_told = delta->problem;
    char text[160];
    snprintf(text, sizeof text, "%s (at 0x%llx)", delta->problem, (unsigned long long)delta->problem_address);
    lose(loader, thread, text);
}

/* ---- libraries as events */

static void describe(const struct tg_object *object, bool dependency, struct tg_library *library)
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

/*
 * Which objects of an event were not asked for themselves. At a loader stop only the first one was, and the
 * loader lists it first; events that may hold several loads are sorted out by DT_NEEDED.
 */
static void mark_dependencies(const struct tg_thread *thread, enum tg_library_found found,
                              struct tg_object *const *objects, size_t count, bool *dependency)
{
    if (found != TG_FOUND_LOADER) {
        tg_object_mark_dependencies(thread->tid, thread->process->bits, objects, count, dependency);
        return;
    }
    for (size_t i = 0; i < count; i++)
        dependency[i] = i > 0;
}

/* What one load event of a process is about. */
struct load {
    enum tg_library_found found;
    unsigned namespace_index;
    uint64_t state;
    uint64_t read_ns;
    struct tg_object *const *objects;
    size_t count;
};

/* How libraries come to be handled. */
struct handling {
    bool late;         /* at a later stop than the one that showed, or would have shown, them */
    uint64_t since_ns; /* late: from when on the program could run them */
    bool final;        /* the process is about to end: planting is of no use any more */
};

/* What a debugger does with a library that is reported: breakpoints. Returns the time that it took. */
static uint64_t handle(struct tg_loader *loader, struct tg_thread *thread, const struct tg_object *object,
                       const struct handling *handling)
{
    if (handling->final)
        return 0;
    uint64_t now_ns = handling->late ? tg_engine_now_ns() : 0;
    uint64_t window_ns = handling->since_ns < now_ns ? now_ns - handling->since_ns : 0;
    struct tg_user_breakpoint_object target = tg_loader_process_target(object);
    return tg_user_breakpoints_plant(loader->options.breakpoints, thread, &target, 1, handling->late,
                                     window_ns);
}

static uint64_t handle_at_once(struct tg_loader *loader, struct tg_thread *thread, const struct load *load)
{
    uint64_t handle_ns = 0;
    for (size_t i = 0; i < load->count; i++)
        handle_ns += handle(loader, thread, load->objects[i], &(struct handling){0});
    return handle_ns;
}

/* Emits the event without its handling time; the copy that the engine keeps is in *KEPT (NULL: it was lost).
 */
static void emit_load(struct tg_loader *loader, struct tg_thread *thread, const struct load *load,
                      struct tg_library *libraries, struct tg_event **kept)
{
    bool few[FEW_LIBRARIES];
    bool *dependency = load->count <= FEW_LIBRARIES ? few : calloc(load->count, sizeof *dependency);
    if (dependency == NULL) {
        lose(loader, thread, "out of memory for a library event");
        *kept = NULL;
        return;
    }
    mark_dependencies(thread, load->found, load->objects, load->count, dependency);
    for (size_t i = 0; i < load->count; i++)
        describe(load->objects[i], dependency[i], &libraries[i]);
    if (dependency != few)
        free(dependency);
    struct tg_event event = {
        .kind = TG_EVENT_LIBRARY_LOAD,
        .library_load = {.found = load->found,
                         .namespace_index = load->namespace_index,
                         .state = load->state,
                         .read_ns = load->read_ns,
                         .libraries = {.items = libraries, .count = load->count}},
    };
    *kept = tg_engine_emit(loader->engine, thread, &event);
}

/* ---- what waits */

static void handle_waiting(struct tg_loader *loader, struct tg_thread *thread, enum tg_stop_trigger trigger,
                           bool final)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    if (watched->n_waiting > 0) {
        struct tg_event event = {
            .kind = TG_EVENT_DEFERRED_HANDLED,
            .deferred_handled = {.trigger = trigger,
                                 .events = watched->waiting_events,
                                 .libraries = watched->n_waiting},
        };
        struct tg_event *kept = tg_engine_emit(loader->engine, thread, &event);
        uint64_t handle_ns = 0;
        for (size_t i = 0; i < watched->n_waiting; i++) {
            struct handling handling = {
                .late = true, .since_ns = watched->waiting[i].since_ns, .final = final};
            handle_ns += handle(loader, thread, watched->waiting[i].object, &handling);
        }
        if (kept != NULL)
            kept->deferred_handled.handle_ns = handle_ns;
    }
    tg_loader_process_drop_waiting(watched);
}

/* ---- load events */

/* The filter's word on a load event, and what follows from it. */
static void decide(struct tg_loader *loader, struct tg_thread *thread, const struct load *load,
                   const struct tg_library *libraries, struct tg_event *kept, uint64_t since_ns)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    const struct tg_list list = {.items = libraries, .count = load->count};
    struct tg_event event = {
        .kind = TG_EVENT_FILTER_DECISION,
        .filter_decision = {.decision = TG_DECISION_NOT_STOPPED, .rule = TG_RULE_NO_STOP},
    };
    if (load->found == TG_FOUND_LOADER)
        event.filter_decision = tg_dlopen_filter_decide(loader->options.filter, &list);
    tg_engine_emit(loader->engine, thread, &event);
    if (event.filter_decision.decision != TG_DECISION_REPORTED) {
        if (!tg_loader_process_wait(watched, load->objects, load->count, since_ns))
            lose(loader, thread, "out of memory for deferred libraries: breakpoints in them are not planted");
        return;
    }
    uint64_t handle_ns = handle_at_once(loader, thread, load);
    if (kept != NULL)
        kept->library_load.handle_ns = handle_ns;
    handle_waiting(loader, thread, TG_TRIGGER_REPORTED_EVENT, false);
}

/* The agent tells of the load; breakpoints in it are ours to plant. */
static void handle_untold(struct tg_loader *loader, struct tg_thread *thread, const struct load *load,
                          uint64_t since_ns)
{
    if (load->found == TG_FOUND_STARTUP)
        handle_at_once(loader, thread, load);
    else if (!tg_loader_process_wait(watched_of(loader, thread), load->objects, load->count, since_ns))
        lose(loader, thread, "out of memory for libraries to handle: breakpoints in them are not planted");
}

/* SINCE_NS: from when on the program could use the libraries. */
static void tell_load(struct tg_loader *loader, struct tg_thread *thread, const struct load *load,
                      uint64_t since_ns)
{
    if (load->count == 0)
        return;
    if (watched_of(loader, thread)->by_agent) {
        handle_untold(loader, thread, load, since_ns);
        return;
    }
    struct tg_library few[FEW_LIBRARIES];
    struct tg_library *libraries =
        load->count <= FEW_LIBRARIES ? few : calloc(load->count, sizeof *libraries);
    struct tg_event *kept = NULL;
    if (libraries == NULL) {
        lose(loader, thread, "out of memory for a library event");
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

static void tell_unload(struct tg_loader *loader, struct tg_thread *thread,
                        const struct tg_link_change *change, enum tg_library_found found)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    struct tg_library *libraries = calloc(change->n_removed, sizeof *libraries);
    if (libraries == NULL)
        lose(loader, thread, "out of memory for an unload event");
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
    for (size_t i = 0; i < change->n_removed; i++) {
        const struct tg_object *object = change->removed[i];
        tg_loader_process_forget(watched, object);
        if (object->base == watched->loader_base)
            continue; /* the loader's entry in another namespace: it itself never goes */
        struct tg_user_breakpoint_object target = tg_loader_process_target(object);
        tg_user_breakpoints_unload(loader->options.breakpoints, thread, &target, 1);
        if (object->size_bytes > 0) /* internal ones, of whoever else planted there */
            tg_breakpoint_forget_range(thread->process, object->base, object->base + object->size_bytes);
    }
}

static void tell_changes(struct tg_loader *loader, struct tg_thread *thread,
                         const struct tg_link_delta *delta, enum tg_library_found found, uint64_t read_ns,
                         uint64_t since_ns)
{
    for (size_t i = 0; i < delta->n_changes; i++) {
        if (delta->changes[i].n_removed > 0)
            tell_unload(loader, thread, &delta->changes[i], found);
    }
    for (size_t i = 0; i < delta->n_changes; i++) {
        const struct tg_link_change *change = &delta->changes[i];
        struct load load = {.found = found,
                            .namespace_index = change->namespace_index,
                            .state = change->state,
                            .read_ns = read_ns,
                            .objects = change->added,
                            .count = change->n_added};
        tell_load(loader, thread, &load, since_ns);
        if (change->n_added > 0)
            read_ns = 0; /* one reading; its time is on the first event */
    }
}

/* ---- start-up */

/* `ld.so PROGRAM`: the process's program is the loader, the one that it loads comes with the libraries. */
static void tell_program(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_object *program = tg_loader_process_program(watched_of(loader, thread), thread);
    if (program == NULL)
        return;
    struct load load = {.found = TG_FOUND_STARTUP, .objects = &program, .count = 1};
    tell_load(loader, thread, &load, 0);
    tg_object_unref(program);
}

/*
 * The first list of a program. Read while its own code has not run (at the loader's first consistent stop)
 * all of it is start-up; read at the entry point or later, what constructors opened follows behind it.
 */
static void tell_startup(struct tg_loader *loader, struct tg_thread *thread,
                         const struct tg_link_delta *delta, uint64_t read_ns, bool code_has_run)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    watched->started_up = code_has_run || tg_loader_process_lists_loader(watched);
    if (watched->loader_is_program && watched->started_up)
        tell_program(loader, thread);
    for (size_t i = 0; i < delta->n_changes; i++) {
        const struct tg_link_change *change = &delta->changes[i];
        struct load load = {.found = TG_FOUND_STARTUP,
                            .namespace_index = change->namespace_index,
                            .state = change->state,
                            .read_ns = read_ns,
                            .objects = change->added,
                            .count = change->n_added};
        size_t startup = change->n_added;
        if (code_has_run)
            startup = tg_loader_process_startup_libraries(watched, thread, change);
        load.count = startup;
        tell_load(loader, thread, &load, 0);
        load.found = TG_FOUND_CATCH_UP;
        load.read_ns = 0;
        load.objects += startup;
        load.count = change->n_added - startup;
        tell_load(loader, thread, &load, thread->process->previous_stop_ns);
        read_ns = 0;
    }
}

/* Finds r_debug if it is not known yet; true where it is. */
static bool locate(struct tg_loader_process *watched, const struct tg_thread *thread)
{
    const struct tg_process *process = thread->process;
    if (watched->maps != NULL)
        return true;
    uint64_t r_debug = 0;
    bool found = watched->loader_is_program
                     ? watched->brk != 0 && tg_rendezvous_search(thread->tid, process->bits, process->phdr,
                                                                 process->n_phdr, watched->brk, &r_debug)
                     : tg_rendezvous_locate(thread->tid, process->bits, process->phdr, process->n_phdr,
                                            &r_debug) == TG_RENDEZVOUS_FOUND;
    if (!found)
        return false;
    struct tg_error *error = tg_link_maps_create(process->bits, r_debug, &watched->maps);
    tg_error_destroy(error); /* tried again at the next stop */
    return error == NULL;
}

/* ---- loader stops */

static void emit_null(struct tg_loader *loader, struct tg_thread *thread, uint64_t state)
{
    struct tg_event event = {.kind = TG_EVENT_LIBRARY_NULL, .library_null = {.state = state}};
    tg_engine_emit(loader->engine, thread, &event);
}

static void loader_stop(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_loader *loader = context;
    struct tg_loader_process *watched = watched_of(loader, thread);
    if (watched == NULL)
        return;
    if (!locate(watched, thread)) {
        emit_null(loader, thread, TG_LINK_CONSISTENT);
        return;
    }
    uint64_t start_ns = tg_engine_now_ns();
    struct tg_link_delta delta;
    struct tg_memory_range along;
    if (tg_thread_wants_along(thread, &along))
        tg_link_maps_take_along(watched->maps, &along);
    tg_link_maps_update(watched->maps, thread->tid, TG_LINK_LOOK_NEW, &delta);
    if (delta.took_along)
        tg_thread_took_along(thread);
    uint64_t read_ns = tg_engine_now_ns() - start_ns;
    if (delta.state == TG_LINK_ADD) /* the end of the addition is told too, even of one that fails */
        tg_thread_comes_again(thread);
    if (delta.n_changes == 0)
        emit_null(loader, thread, delta.state);
    else if (!watched->started_up)
        tell_startup(loader, thread, &delta, read_ns, false);
    else
        tell_changes(loader, thread, &delta, TG_FOUND_LOADER, read_ns, start_ns);
    tell_problem(loader, thread, watched, &delta, true);
    if (watched->startup_only && watched->started_up) {
        tg_breakpoint_remove(thread->process, breakpoint);
        watched->wants_stops = watched->planted = false;
    }
}

/* Where the loader will stop: by r_debug once it is filled in, before that by the symbol that every loader
 * has. */
static uint64_t find_brk(struct tg_loader *loader, const struct tg_thread *thread,
                         const struct tg_loader_process *watched)
{
    uint64_t r_brk = 0;
    uint64_t state;
    if (watched->maps != NULL && tg_link_maps_peek(watched->maps, thread->tid, &r_brk, &state))
        return r_brk;
    if (watched->loader_is_program)
        return watched->brk; /* found with it */
    return tg_loader_process_symbol(thread, loader->options.images, "_dl_debug_state");
}

static void plant(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    if (!watched->wants_stops || watched->planted)
        return;
    watched->brk = find_brk(loader, thread, watched);
    if (watched->brk == 0)
        return; /* at the entry point r_debug is there */
    struct tg_breakpoint *breakpoint;
    TG_AUTO_ERROR struct tg_error *error = tg_breakpoint_plant(
        thread->process, watched->brk, TG_BREAKPOINT_INTERNAL, loader_stop, loader, &breakpoint);
    watched->planted = error == NULL;
    if (error != NULL) {
        watched->wants_stops = false;
        char text[256];
        snprintf(text, sizeof text,
                 "no stop at the dynamic loader's r_brk, libraries are found at other stops: %s",
                 tg_error_message(error));
        note(loader, thread, text);
    }
}

/* ---- other stops */

/* Reads what no loader stop has shown. */
static void catch_up(struct tg_loader *loader, struct tg_thread *thread, enum tg_link_look look)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    struct tg_link_delta delta;
    uint64_t start_ns = tg_engine_now_ns();
    uint64_t since_ns = thread->process->previous_stop_ns;
    tg_link_maps_update(watched->maps, thread->tid, look, &delta);
    uint64_t read_ns = tg_engine_now_ns() - start_ns;
    if (watched->started_up)
        tell_changes(loader, thread, &delta, TG_FOUND_CATCH_UP, read_ns, since_ns);
    else if (delta.n_changes > 0)
        tell_startup(loader, thread, &delta, read_ns, true);
    tell_problem(loader, thread, watched, &delta, false);
}

/* Whether the loader still maps the start-up libraries. */
static bool is_starting_up(const struct tg_loader_process *watched, const struct tg_thread *thread)
{
    uint64_t r_brk;
    uint64_t state;
    return !watched->started_up &&
           (!tg_link_maps_peek(watched->maps, thread->tid, &r_brk, &state) || state != TG_LINK_CONSISTENT);
}

/* The last thread is about to go: nothing can be planted in time any more, but the trace is to be complete.
 */
static bool is_last_stop(const struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    return trigger == TG_TRIGGER_EXIT && HASH_COUNT(thread->process->threads) == 1;
}

/*
 * Whether there is nothing to do here while the agent watches. An agent that was put into the program and did
 * not come up is found out at the entry point: then libraries are watched as without one.
 */
static bool is_left_to_agent(struct tg_loader *loader, const struct tg_thread *thread)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    watched->by_agent = tg_agent_injector_is_in(loader->options.agent, thread->process);
    watched->wants_stops = !watched->by_agent && loader->options.filter->mode != TG_FILTER_FAST;
    return watched->by_agent && tg_user_breakpoints_count(loader->options.breakpoints) == 0;
}

static void at_other_stop(struct tg_loader *loader, struct tg_thread *thread, enum tg_stop_trigger trigger,
                          bool final)
{
    struct tg_loader_process *watched = watched_of(loader, thread);
    if (watched == NULL || (watched->by_agent && is_left_to_agent(loader, thread)) ||
        !locate(watched, thread))
        return;
    if (final && watched->references > 1)
        return; /* a vfork child: the memory, and what is to be told of it, is its parent's */
    bool unseen = !watched->planted || !watched->started_up;
    if (final) {
        catch_up(loader, thread, TG_LINK_LOOK_LAST);
    } else if (unseen && !is_starting_up(watched, thread)) {
        bool whole =
            trigger == TG_TRIGGER_ENTRY || tg_user_breakpoints_count(loader->options.breakpoints) > 0;
        catch_up(loader, thread, whole ? TG_LINK_LOOK_WHOLE : TG_LINK_LOOK_NEW);
    }
    if (!final)
        plant(loader, thread);
    handle_waiting(loader, thread, trigger, final);
}

/* ---- observer */

/* The parent stands in its fork, which is a stop like any other: what waits there is handled before the child
 * gets its copy. The child's memory was copied before that, so the same is planted in the child. */
static void settle_parent(struct tg_loader *loader, struct tg_thread *child,
                          struct tg_loader_process *of_parent)
{
    struct tg_thread *forking = tg_engine_stopped_thread(loader->engine);
    if (forking == NULL || watched_of(loader, forking) != of_parent)
        return;
    struct tg_loader_process *before = tg_loader_process_copy(of_parent);
    at_other_stop(loader, forking, TG_TRIGGER_FORK, false);
    for (size_t i = 0; before != NULL && i < before->n_waiting; i++) {
        struct handling handling = {.late = true, .since_ns = before->waiting[i].since_ns};
        handle(loader, child, before->waiting[i].object, &handling);
    }
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
        lose(loader, thread, "out of memory: libraries of this process are not watched");
}

static void begin_watching(struct tg_loader *loader, struct tg_thread *thread, bool attached)
{
    struct tg_process *process = thread->process;
    enum tg_loader_watch watch = process->attached ? loader->options.attached : loader->options.launched;
    if (watch == TG_LOADER_NONE || process->bits == 0)
        return;
    struct tg_loader_process *watched = tg_loader_process_create();
    if (watched == NULL) {
        lose(loader, thread, "out of memory: libraries of this process are not watched");
        return;
    }
    watched->by_agent = watch == TG_LOADER_AGENT && loader->options.agent != NULL &&
                        tg_agent_injector_is_in(loader->options.agent, process);
    watched->wants_stops =
        watch != TG_LOADER_CATCH_UP && !watched->by_agent && loader->options.filter->mode != TG_FILTER_FAST;
    watched->loader_base = process->loader_base;
    if (process->loader_base == 0) {
        watched->loader_is_program =
            tg_loader_process_is_loader(thread, loader->options.images, &watched->loader_base, &watched->brk);
        if (!watched->loader_is_program) {
            tg_loader_process_unref(watched);
            note(loader, thread, "a static program: it has no dynamic loader to watch");
            return;
        }
        /* The kernel starts the loader, so that there is no stop at the program's own entry point, where the
         * start-up libraries of other programs are found in every mode. */
        watched->startup_only = !watched->wants_stops && !attached && watch != TG_LOADER_CATCH_UP;
        watched->wants_stops |= watched->startup_only;
    }
    process->data[loader->slot] = watched;
    if (attached && locate(watched, thread)) {
        struct tg_link_delta delta;
        uint64_t start_ns = tg_engine_now_ns();
        tg_link_maps_update(watched->maps, thread->tid, TG_LINK_LOOK_NEW, &delta);
        watched->started_up = tg_loader_process_lists_loader(watched);
        tell_changes(loader, thread, &delta, TG_FOUND_ATTACH, tg_engine_now_ns() - start_ns, 0);
        tell_problem(loader, thread, watched, &delta, false);
    }
    plant(loader, thread);
}

static void program_loaded(void *context, struct tg_thread *thread, bool attached)
{
    struct tg_loader *loader = context;
    tg_loader_process_unref(thread->process->data[loader->slot]);
    thread->process->data[loader->slot] = NULL;
    begin_watching(loader, thread, attached);
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    at_other_stop(context, thread, stop->trigger, is_last_stop(thread, stop->trigger));
}

static void process_leaving(void *context, struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    at_other_stop(context, thread, trigger, true);
}

static void process_ended(void *context, struct tg_process *process)
{
    struct tg_loader *loader = context;
    tg_loader_process_unref(process->data[loader->slot]);
    process->data[loader->slot] = NULL;
}

struct tg_error *tg_loader_create(struct tg_engine *engine, const struct tg_loader_options *options,
                                  struct tg_loader **loader)
{
    struct tg_loader *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->engine = engine;
    made->options = *options;
    made->observer = (struct tg_observer){
        .name = "loader",
        .context = made,
        .process_started = process_started,
        .program_loaded = program_loaded,
        .stopped = stopped,
        .process_leaving = process_leaving,
        .process_ended = process_ended,
    };
    made->slot = tg_engine_add_observer(engine, &made->observer);
    *loader = made;
    return NULL;
}

void tg_loader_destroy(struct tg_loader *loader)
{
    free(loader);
}
