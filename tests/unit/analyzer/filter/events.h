/* Hand-built events for the tests of the filter models. Lists live as long as their script. */
#ifndef TG_TESTS_UNIT_ANALYZER_FILTER_EVENTS_H
#define TG_TESTS_UNIT_ANALYZER_FILTER_EVENTS_H

#include "format/event/event.h"

#include <string.h>

struct script {
    struct tg_event events[256];
    size_t count;
    struct tg_library libraries[1024];
    size_t n_libraries;
    char text[16384];
    size_t text_size;
};

static inline struct tg_event *script_add(struct script *script, uint64_t time_ns, int32_t pid,
                                          enum tg_event_kind kind)
{
    struct tg_event *event = &script->events[script->count++];
    memset(event, 0, sizeof *event);
    event->time_ns = time_ns;
    event->pid = event->tid = pid;
    event->kind = kind;
    return event;
}

/* PATHS: separated by blanks; the link map of a path is a hash of it, so that loads and unloads meet. */
static inline struct tg_list script_libraries(struct script *script, const char *paths)
{
    char *copy = strcpy(script->text + script->text_size, paths);
    script->text_size += strlen(paths) + 1;
    const struct tg_library *first = &script->libraries[script->n_libraries];
    uint64_t count = 0;
    for (char *path = strtok(copy, " "); path != NULL; path = strtok(NULL, " ")) {
        uint64_t hash = 5381;
        for (const char *p = path; *p != '\0'; p++)
            hash = hash * 33 + (unsigned char)*p;
        script->libraries[script->n_libraries++] =
            (struct tg_library){.path = path, .build_id = "", .link_map = hash << 4};
        count++;
    }
    return (struct tg_list){first, count};
}

/* A stop at the loader that brought PATHS: stop 100 us, of which 20 us handling. */
static inline struct tg_event *script_load(struct script *script, uint64_t time_ns, int32_t pid,
                                           const char *paths)
{
    struct tg_event *event = script_add(script, time_ns, pid, TG_EVENT_LIBRARY_LOAD);
    event->stop_ns = 100000;
    event->library_load.found = TG_FOUND_LOADER;
    event->library_load.read_ns = 5000;
    event->library_load.handle_ns = 20000;
    event->library_load.libraries = script_libraries(script, paths);
    return event;
}

static inline void script_null(struct script *script, uint64_t time_ns, int32_t pid)
{
    struct tg_event *event = script_add(script, time_ns, pid, TG_EVENT_LIBRARY_NULL);
    event->stop_ns = 40000;
    event->library_null.state = 1;
}

static inline void script_unload(struct script *script, uint64_t time_ns, int32_t pid, const char *paths)
{
    struct tg_event *event = script_add(script, time_ns, pid, TG_EVENT_LIBRARY_UNLOAD);
    event->stop_ns = 50000;
    event->library_unload.found = TG_FOUND_LOADER;
    event->library_unload.libraries = script_libraries(script, paths);
}

static inline void script_start(struct script *script, uint64_t time_ns, int32_t pid, int64_t parent_pid)
{
    struct tg_event *event = script_add(script, time_ns, pid, TG_EVENT_PROCESS_START);
    event->process_start.origin = TG_ORIGIN_FORK;
    event->process_start.parent_pid = parent_pid;
}

static inline void script_exit(struct script *script, uint64_t time_ns, int32_t pid)
{
    script_add(script, time_ns, pid, TG_EVENT_PROCESS_EXIT)->process_exit.how = TG_EXIT_STATUS;
}

static inline void script_break(struct script *script, uint64_t id, const char *text)
{
    struct tg_event *event = script_add(script, 0, 0, TG_EVENT_BREAKPOINT_SPEC);
    event->breakpoint_spec.breakpoint = id;
    event->breakpoint_spec.text = text;
}

static inline struct tg_event *script_plant(struct script *script, uint64_t time_ns, int32_t pid, uint64_t id,
                                            uint64_t address, const char *library)
{
    struct tg_event *event = script_add(script, time_ns, pid, TG_EVENT_BREAKPOINT_PLANTED);
    event->breakpoint_planted.breakpoint = id;
    event->breakpoint_planted.address = address;
    event->breakpoint_planted.library = library;
    return event;
}

/* A handling of COUNT libraries of one event each. */
static inline void script_handled(struct script *script, uint64_t time_ns, int32_t pid,
                                  enum tg_stop_trigger trigger, uint64_t count)
{
    struct tg_event *event = script_add(script, time_ns, pid, TG_EVENT_DEFERRED_HANDLED);
    event->deferred_handled.trigger = trigger;
    event->deferred_handled.events = event->deferred_handled.libraries = count;
    event->deferred_handled.handle_ns = 20000;
}

static inline void script_hit(struct script *script, uint64_t time_ns, int32_t pid, uint64_t id,
                              uint64_t address)
{
    struct tg_event *event = script_add(script, time_ns, pid, TG_EVENT_BREAKPOINT_HIT);
    event->breakpoint_hit.breakpoint = id;
    event->breakpoint_hit.address = address;
}

static inline void script_settings(struct script *script, enum tg_filter_mode mode, const char *match)
{
    struct tg_event *event = script_add(script, 0, 0, TG_EVENT_FILTER_SETTINGS);
    event->filter_settings.mode = mode;
    event->filter_settings.match = match;
}

#endif
