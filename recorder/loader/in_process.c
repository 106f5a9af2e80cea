#include "recorder/loader/in_process.h"

#include "recorder/agent/contract.h"
#include "recorder/loader/events.h"
#include "recorder/loader/notes.h"
#include "recorder/process/mappings.h"
#include "recorder/process/memory.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the auditor in the process's memory */

static bool is_auditor(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && strcmp(slash + 1, TG_AGENT_AUDIT_LIBRARY) == 0;
}

static void take_symbol(void *context, const struct tg_image_symbol *symbol)
{
    struct tg_loader_auditor *auditor = context;
    if (strcmp(symbol->name, TG_AGENT_REPORT_SYMBOL) == 0)
        auditor->report = symbol->address;
    else if (strcmp(symbol->name, TG_AGENT_LOADS_SYMBOL) == 0)
        auditor->loads = symbol->address;
}

static void find_symbols(struct tg_loader *loader, const struct tg_thread *thread, const char *path,
                         uint64_t base, struct tg_loader_auditor *auditor)
{
    const struct tg_image_source source = {
        .pid = thread->tid, .path = path, .load_bias = base, .header = base};
    struct tg_image *image = tg_image_cache_find(loader->options.images, &source);
    if (image == NULL)
        return;
    tg_image_each_symbol(image, "tollgate_", false, take_symbol, auditor);
    if (auditor->report != 0 && auditor->loads != 0) {
        auditor->report += base;
        auditor->loads += base;
    }
    tg_image_unref(image);
}

/* False where it is not there. */
static bool find_auditor(struct tg_loader *loader, const struct tg_thread *thread)
{
    struct tg_loader_auditor *auditor = &tg_loader_watched(loader, thread)->auditor;
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    if (auditor->report != 0)
        return true;
    bool readable = tg_mappings_open(&mappings, thread->process->pid);
    while (readable && auditor->report == 0 && tg_mappings_next(&mappings, &mapping))
        if (mapping.offset == 0 && is_auditor(mapping.path))
            find_symbols(loader, thread, mapping.path, mapping.start, auditor);
    tg_mappings_close(&mappings);
    if (auditor->loads == 0)
        auditor->report = 0;
    return auditor->report != 0;
}

static bool read_loads(const struct tg_loader_process *watched, pid_t tid, struct tg_agent_loads *loads)
{
    return watched->auditor.loads != 0 &&
           tg_memory_read(tid, watched->auditor.loads, loads, offsetof(struct tg_agent_loads, log));
}

/* ---- what was loaded since the last look */

static struct tg_loaded_object *object_at(const struct tg_link_maps *maps, uint64_t link_map, size_t *space,
                                          size_t *place)
{
    for (size_t n = 0; n < tg_link_maps_namespaces(maps); n++)
        for (size_t i = tg_link_maps_count(maps, n); i > 0; i--)
            if (tg_link_maps_at(maps, n, i - 1)->link_map == link_map) {
                *space = n;
                *place = i - 1;
                return tg_link_maps_at(maps, n, i - 1);
            }
    return NULL;
}

static bool is_in(const struct tg_link_delta *delta, const struct tg_loaded_object *object)
{
    for (size_t n = 0; n < delta->n_changes; n++)
        for (size_t i = 0; i < delta->changes[n].n_added; i++)
            if (delta->changes[n].added[i] == object)
                return true;
    return false;
}

static void let_wait(struct tg_loader *loader, struct tg_thread *thread, struct tg_loaded_object *object,
                     uint64_t since_ns)
{
    if (!tg_loader_process_wait(tg_loader_watched(loader, thread), &object, 1, since_ns))
        tg_loader_lose(loader, thread, "out of memory: breakpoints in some libraries are not planted");
}

/* Objects of the log that the lists had before: they were unloaded, and loaded again at the same place. */
static void look_at_log(struct tg_loader *loader, struct tg_thread *thread, struct tg_agent_loads *loads,
                        const struct tg_link_delta *delta, uint64_t since_ns)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    struct tg_loader_auditor *auditor = &watched->auditor;
    uint64_t count = loads->opened - auditor->opened;
    if (count > TG_AGENT_LOADS_LOG ||
        !tg_memory_read(thread->tid, auditor->loads + offsetof(struct tg_agent_loads, log), loads->log,
                        sizeof loads->log)) {
        tg_loader_lose(loader, thread, "more libraries were loaded between two stops than are kept track of");
        return;
    }
    for (uint64_t i = auditor->opened; i != loads->opened; i++) {
        uint64_t link_map = loads->log[i % TG_AGENT_LOADS_LOG];
        size_t space, place;
        struct tg_loaded_object *object = object_at(watched->maps, link_map, &space, &place);
        if (object == NULL || !object->is_library || is_in(delta, object) ||
            tg_loader_process_waits(watched, object))
            continue;
        if (link_map != auditor->early)
            tg_loader_drop_object(loader, thread, object);
        let_wait(loader, thread, object, since_ns);
    }
}

/* An object that is in its list before the auditor knows of it: its turn comes. It is the last one of all. */
static void put_off_early(struct tg_loader_process *watched, const struct tg_agent_loads *loads,
                          const struct tg_link_delta *delta)
{
    size_t n_added = 0;
    const struct tg_loaded_object *last = NULL;
    for (size_t n = 0; n < delta->n_changes; n++) {
        const struct tg_link_change *change = &delta->changes[n];
        n_added += change->n_added;
        if (change->n_added > 0)
            last = change->added[change->n_added - 1];
    }
    watched->auditor.early = 0;
    if (n_added <= loads->opened - watched->auditor.opened)
        return;
    watched->auditor.early = last->link_map;
    tg_loader_process_forget(watched, last);
}

/* Takes what changed since the last look, as LOADS says; all that is new waits. */
static void look(struct tg_loader *loader, struct tg_thread *thread, struct tg_agent_loads *loads, bool final)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    struct tg_loader_auditor *auditor = &watched->auditor;
    uint64_t since_ns = thread->process->previous_stop_ns;
    uint64_t waiting_events = watched->waiting_events + (loads->waiting - auditor->waiting);
    bool closed = loads->closed != auditor->closed;
    struct tg_link_delta delta;
    tg_link_maps_update(watched->maps, thread->tid, closed || final ? TG_LINK_LOOK_LAST : TG_LINK_LOOK_ADDED,
                        &delta);
    tg_loader_tell_changes(loader, thread, &delta, TG_FOUND_CATCH_UP, 0, since_ns);
    if (closed || auditor->early != 0)
        look_at_log(loader, thread, loads, &delta, since_ns);
    put_off_early(watched, loads, &delta);
    watched->waiting_events = waiting_events;
    auditor->opened = loads->opened;
    auditor->closed = loads->closed;
    auditor->waiting = loads->waiting;
}

/* Whether nobody wants to know of a process that ends which libraries waited: no breakpoint does, and none of those has gone; and
 * whether that many can be. */
static bool is_only_counted(const struct tg_loader *loader, const struct tg_loader_process *watched,
                            const struct tg_agent_loads *loads)
{
    enum { MAX_OBJECTS = 1 << 20 }; /* as the auditor has it */
    const struct tg_loader_auditor *auditor = &watched->auditor;
    return !tg_loader_has_users(loader) && loads->undecided == 0 && loads->closed == auditor->closed &&
           auditor->early == 0 && loads->opened - auditor->opened <= MAX_OBJECTS;
}

static void count_unread(struct tg_loader_process *watched, const struct tg_agent_loads *loads)
{
    struct tg_loader_auditor *auditor = &watched->auditor;
    watched->n_unread = loads->opened - auditor->opened;
    watched->waiting_events += loads->waiting - auditor->waiting;
    auditor->opened = loads->opened;
    auditor->waiting = loads->waiting;
}

void tg_loader_in_process_look(struct tg_loader *loader, struct tg_thread *thread, bool final)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    struct tg_agent_loads loads;
    if (!read_loads(watched, thread->tid, &loads) || (loads.undecided != 0 && !final))
        return; /* what waited before goes on waiting with what is under way */
    if (final && is_only_counted(loader, watched, &loads))
        count_unread(watched, &loads);
    else if (loads.opened != watched->auditor.opened || loads.closed != watched->auditor.closed)
        look(loader, thread, &loads, final);
}

void tg_loader_in_process_know_all(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    struct tg_agent_loads loads;
    if (!read_loads(watched, thread->tid, &loads))
        return;
    watched->waiting_events = loads.waiting - watched->auditor.waiting;
    watched->auditor.opened = loads.opened;
    watched->auditor.closed = loads.closed;
    watched->auditor.waiting = loads.waiting;
}

/* ---- the auditor asks */

/* The libraries of the load that begins with the object at FIRST. Free with free; NULL where they cannot be found. */
static struct tg_loaded_object **load_from(const struct tg_loader_process *watched, uint64_t first,
                                           size_t *count)
{
    size_t space = 0, place = 0;
    if (object_at(watched->maps, first, &space, &place) == NULL)
        return NULL;
    size_t end = tg_link_maps_count(watched->maps, space);
    struct tg_loaded_object **objects = calloc(end - place, sizeof(struct tg_loaded_object *));
    for (*count = 0; objects != NULL && place < end; place++) {
        struct tg_loaded_object *object = tg_link_maps_at(watched->maps, space, place);
        if (object->is_library)
            objects[(*count)++] = object;
    }
    return objects;
}

/* Arguments: see TG_AGENT_REPORT_SYMBOL. Where nothing comes of it here, the auditor tells the load itself. */
static void report(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    (void)breakpoint;
    struct tg_loader *loader = context;
    struct tg_loader_process *watched = tg_loader_watched(loader, thread);
    const struct user_regs_struct *registers = tg_thread_registers(thread);
    struct tg_agent_loads loads;
    if (registers == NULL || watched == NULL || !watched->in_process || watched->maps == NULL ||
        !read_loads(watched, thread->tid, &loads))
        return;
    const struct user_regs_struct arguments = *registers;
    uint64_t start_ns = tg_engine_now_ns();
    tg_link_maps_begin_at(watched->maps, arguments.rsi);
    look(loader, thread, &loads, false);
    size_t count = 0;
    struct tg_loaded_object **objects = load_from(watched, arguments.rsi, &count);
    if (objects == NULL || count == 0) {
        tg_loader_lose(loader, thread, "the libraries of a dlopen event cannot be read");
        free(objects);
        return;
    }
    for (size_t i = 0; i < count; i++)
        tg_loader_process_forget(watched, objects[i]);
    const struct tg_loader_load load = {
        .found = TG_FOUND_LOADER,
        .namespace_index = (unsigned)arguments.rdi,
        .state = arguments.rdx == TG_LINK_DELETE ? TG_LINK_DELETE : TG_LINK_CONSISTENT,
        .read_ns = tg_engine_now_ns() - start_ns,
        .objects = objects,
        .count = count,
    };
    if (tg_thread_return(thread, 1))
        tg_loader_tell_load(loader, thread, &load, start_ns);
    free(objects);
}

static void unplant(struct tg_loader *loader, struct tg_process *process)
{
    struct tg_loader_auditor *auditor = &((struct tg_loader_process *)process->data[loader->slot])->auditor;
    struct tg_breakpoint *breakpoint =
        auditor->planted ? tg_breakpoint_find(process, auditor->report, report, loader) : NULL;
    if (breakpoint != NULL)
        tg_breakpoint_remove(process, breakpoint);
    auditor->planted = false;
}

static bool plant(struct tg_loader *loader, struct tg_thread *thread)
{
    struct tg_loader_auditor *auditor = &tg_loader_watched(loader, thread)->auditor;
    struct tg_breakpoint *breakpoint;
    if (auditor->planted)
        return true;
    TG_AUTO_ERROR struct tg_error *error = tg_breakpoint_plant(
        thread->process, auditor->report, TG_BREAKPOINT_INTERNAL, report, loader, &breakpoint);
    auditor->planted = error == NULL;
    if (error != NULL) {
        char text[256];
        snprintf(text, sizeof text, "no breakpoint in the agent; libraries are handled at other stops: %s",
                 tg_error_message(error));
        tg_loader_note(loader, thread, text);
    }
    return auditor->planted;
}

void tg_loader_in_process_switch(struct tg_loader *loader, struct tg_thread *thread)
{
    if (loader->filter.mode == TG_FILTER_FAST)
        unplant(loader, thread->process);
    else if (find_auditor(loader, thread))
        (void)plant(loader, thread);
}

void tg_loader_in_process_end(struct tg_loader *loader, struct tg_process *process)
{
    struct tg_loader_process *watched = process->data[loader->slot];
    unplant(loader, process);
    watched->in_process = false;
}

bool tg_loader_in_process_begin(struct tg_loader *loader, struct tg_thread *thread)
{
    return tg_agent_injector_came_up(loader->options.agent, thread) && find_auditor(loader, thread) &&
           (loader->filter.mode == TG_FILTER_FAST || plant(loader, thread));
}
