#include "recorder/loader/stops.h"

#include "recorder/loader/events.h"
#include "recorder/loader/in_process.h"
#include "recorder/loader/notes.h"
#include "recorder/loader/rendezvous.h"

#include <stdio.h>
#include <stdlib.h>

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
    tg_loader_lose(loader, thread, text);
}

/* ---- start-up */

/* `ld.so PROGRAM`: the process's program is the loader, the one that it loads comes with the libraries. */
static void tell_program(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loaded_object *program =
        tg_loader_process_program(tg_loader_watched(loader, thread), thread->tid);
    if (program == NULL)
        return;
    struct tg_loader_load load = {.found = TG_FOUND_STARTUP, .objects = &program, .count = 1};
    tg_loader_tell_load(loader, thread, &load, 0);
    tg_loaded_object_unref(program);
}

/* The first list of a program. Read while its own code has not run (at the loader's first consistent stop)
 * all of it is start-up; read at the entry point or later, what constructors opened follows behind it. */
static void tell_startup(struct tg_loader *loader, struct tg_thread *thread,
                         const struct tg_link_delta *delta, uint64_t read_ns, bool code_has_run)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    watched->started_up = code_has_run || tg_loader_process_lists_loader(watched);
    if (watched->loader_is_program && watched->started_up)
        tell_program(loader, thread);
    for (size_t i = 0; i < delta->n_changes; i++) {
        const struct tg_link_change *change = &delta->changes[i];
        struct tg_loader_load load = {.found = TG_FOUND_STARTUP,
                                      .namespace_index = change->namespace_index,
                                      .state = change->state,
                                      .read_ns = read_ns,
                                      .objects = change->added,
                                      .count = change->n_added};
        size_t startup = change->n_added;
        if (code_has_run)
            startup = tg_loader_process_startup_libraries(watched, thread, change);
        load.count = startup;
        tg_loader_tell_load(loader, thread, &load, 0);
        load.found = TG_FOUND_CATCH_UP;
        load.read_ns = 0;
        load.objects += startup;
        load.count = change->n_added - startup;
        tg_loader_tell_load(loader, thread, &load, thread->process->previous_stop_ns);
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
    watched->maps = tg_link_maps_create(process->bits, r_debug);
    return watched->maps != NULL; /* without memory another try is made at the next stop */
}

/* ---- loader stops */

static void emit_null(struct tg_loader *loader, struct tg_thread *thread, uint64_t state)
{
    if (tg_loader_watched(loader, thread)->by_agent)
        return;
    struct tg_event event = {.kind = TG_EVENT_LIBRARY_NULL, .library_null = {.state = state}};
    tg_engine_emit(loader->engine, thread, &event);
}

/* The first stop at which the lists are there: the auditors were loaded before. */
static void begin_in_process(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    if (tg_loader_in_process_begin(loader, thread))
        return;
    tg_loader_in_process_end(loader, thread->process);
    watched->by_agent = watched->startup_only = false;
    watched->wants_stops = loader->filter.mode != TG_FILTER_FAST;
}

static void loader_stop(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct tg_loader *loader = context;
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    if (watched == NULL)
        return;
    if (!locate(watched, thread)) {
        emit_null(loader, thread, TG_LINK_CONSISTENT);
        return;
    }
    if (watched->in_process && watched->auditor.report == 0)
        begin_in_process(loader, thread);
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
        tg_loader_tell_changes(loader, thread, &delta, TG_FOUND_LOADER, read_ns, start_ns);
    tell_problem(loader, thread, watched, &delta, true);
    if (watched->startup_only && watched->started_up) {
        tg_breakpoint_remove(thread->process, breakpoint);
        watched->wants_stops = watched->planted = watched->startup_only = false;
    }
}

/* The address at which the loader will stop: by r_debug once it is filled in, before that by the symbol that
 * every loader has. */
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

void tg_loader_plant(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
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
                 "no breakpoint at the dynamic loader's r_brk; libraries are found at other stops: %s",
                 tg_error_message(error));
        tg_loader_note(loader, thread, text);
    }
}

void tg_loader_unplant(struct tg_loader *loader, struct tg_process *process)
{
    struct tg_loader_process *watched = process->data[loader->slot];
    struct tg_breakpoint *breakpoint =
        watched->planted ? tg_breakpoint_find(process, watched->brk, loader_stop, loader) : NULL;
    if (breakpoint != NULL)
        tg_breakpoint_remove(process, breakpoint);
    watched->planted = false;
}

/* ---- other stops */

/* Reads what no loader stop has shown. */
static void catch_up(struct tg_loader *loader, struct tg_thread *thread, enum tg_link_look look)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    struct tg_link_delta delta;
    uint64_t start_ns = tg_engine_now_ns();
    uint64_t since_ns = thread->process->previous_stop_ns;
    tg_link_maps_update(watched->maps, thread->tid, look, &delta);
    uint64_t read_ns = tg_engine_now_ns() - start_ns;
    if (watched->started_up)
        tg_loader_tell_changes(loader, thread, &delta, TG_FOUND_CATCH_UP, read_ns, since_ns);
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

/* Handles what the auditor deferred; false: as in other processes. */
static bool is_left_to_auditor(struct tg_loader *loader, struct tg_thread *thread, bool final)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    if (!watched->in_process || !watched->started_up)
        return false;
    if (!tg_agent_injector_is_in(loader->options.agent, thread->process)) {
        tg_loader_in_process_end(loader, thread->process);
        return false;
    }
    tg_loader_in_process_look(loader, thread, final);
    return true;
}

/* Whether there is nothing to do here while the agent watches. An agent that was put into the program and did
 * not come up is found out at the entry point: then libraries are watched as without one. */
static bool is_left_to_agent(struct tg_loader *loader, const struct tg_thread *thread)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    watched->by_agent = tg_agent_injector_is_in(loader->options.agent, thread->process);
    watched->wants_stops =
        (!watched->by_agent && loader->filter.mode != TG_FILTER_FAST) || watched->startup_only;
    return watched->by_agent && !watched->in_process && !tg_loader_has_users(loader);
}

void tg_loader_at_other_stop(struct tg_loader *loader, struct tg_thread *thread, enum tg_stop_trigger trigger,
                             bool final)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    if (watched == NULL || (watched->by_agent && is_left_to_agent(loader, thread)) ||
        !locate(watched, thread))
        return;
    if (final && watched->references > 1)
        return; /* a vfork child: the memory, and its events, are its parent's */
    if (watched->in_process && watched->auditor.report == 0)
        begin_in_process(loader, thread);
    bool unseen = !watched->planted || !watched->started_up;
    if (is_left_to_auditor(loader, thread, final)) {
        /* nothing else to look at */
    } else if (final) {
        catch_up(loader, thread, TG_LINK_LOOK_LAST);
    } else if (unseen && !is_starting_up(watched, thread)) {
        bool whole = trigger == TG_TRIGGER_ENTRY || tg_loader_has_users(loader);
        catch_up(loader, thread, whole ? TG_LINK_LOOK_WHOLE : TG_LINK_LOOK_NEW);
        if (watched->in_process && watched->started_up)
            tg_loader_in_process_know_all(loader, thread);
    }
    if (!final)
        tg_loader_plant(loader, thread);
    tg_loader_handle_waiting(loader, thread, trigger, final);
}

/* What the setting that is in force makes of WATCH, for a program that begins now. */
static enum tg_loader_watch watch_now(const struct tg_loader *loader, enum tg_loader_watch watch)
{
    if (watch != TG_LOADER_BY_MODE)
        return watch;
    return loader->filter.mode == TG_FILTER_MEDIUM ? TG_LOADER_IN_PROCESS : TG_LOADER_STOPS;
}

void tg_loader_tell_injector(const struct tg_loader *loader)
{
    if (loader->options.launched == TG_LOADER_BY_MODE && loader->options.agent != NULL)
        tg_agent_injector_set_audit(loader->options.agent, loader->filter.mode == TG_FILTER_MEDIUM);
}

void tg_loader_begin_watching(struct tg_loader *loader, struct tg_thread *thread, bool attached)
{
    struct tg_process *process = thread->process;
    enum tg_loader_watch watch =
        watch_now(loader, process->attached ? loader->options.attached : loader->options.launched);
    if (watch == TG_LOADER_NONE || process->bits == 0)
        return;
    struct tg_loader_process *watched = tg_loader_process_create();
    if (watched == NULL) {
        tg_loader_lose(loader, thread, "out of memory: the libraries of this process are not recorded");
        return;
    }
    bool wants_agent = watch == TG_LOADER_AGENT || watch == TG_LOADER_IN_PROCESS;
    watched->by_agent = wants_agent && loader->options.agent != NULL &&
                        tg_agent_injector_is_in(loader->options.agent, process);
    watched->in_process = watched->by_agent && watch == TG_LOADER_IN_PROCESS;
    watched->wants_stops =
        watch != TG_LOADER_CATCH_UP && !watched->by_agent && loader->filter.mode != TG_FILTER_FAST;
    watched->never_stops = watch == TG_LOADER_CATCH_UP;
    watched->loader_base = process->loader_base;
    if (process->loader_base == 0) {
        watched->loader_is_program =
            tg_loader_process_is_loader(thread, loader->options.images, &watched->loader_base, &watched->brk);
        if (!watched->loader_is_program) {
            tg_loader_process_unref(watched);
            tg_loader_note(loader, thread, "a static program: no dynamic loader to watch");
            return;
        }
        /* The kernel starts the loader, so that there is no stop at the program's own entry point, where the
         * start-up libraries of other programs are found in every mode. */
        watched->startup_only = !watched->wants_stops && !attached && watch != TG_LOADER_CATCH_UP;
        watched->wants_stops |= watched->startup_only;
    }
    if (watched->in_process && loader->filter.mode != TG_FILTER_FAST)
        watched->startup_only = watched->wants_stops =
            true; /* the auditor is found there, before constructors run */
    process->data[loader->slot] = watched;
    if (attached && locate(watched, thread)) {
        struct tg_link_delta delta;
        uint64_t start_ns = tg_engine_now_ns();
        tg_link_maps_update(watched->maps, thread->tid, TG_LINK_LOOK_NEW, &delta);
        watched->started_up = tg_loader_process_lists_loader(watched);
        tg_loader_tell_changes(loader, thread, &delta, TG_FOUND_ATTACH, tg_engine_now_ns() - start_ns, 0);
        tell_problem(loader, thread, watched, &delta, false);
    }
    tg_loader_plant(loader, thread);
}
