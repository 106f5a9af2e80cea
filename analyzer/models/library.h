/* The library model: which objects were loaded, when first, by how many processes, and what their stops
 * cost. */
#ifndef TG_ANALYZER_MODELS_LIBRARY_H
#define TG_ANALYZER_MODELS_LIBRARY_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One distinct object: a path and a build-id. */
struct tg_library_use {
    size_t index; /* in order of first appearance */
    const char *path;
    const char *build_id; /* "" unknown */
    uint64_t size_bytes;  /* of its first load, 0 unknown */
    uint64_t first_ns;    /* earliest load */
    size_t first_process; /* index in the process model */
    bool startup;         /* every load was at a program's start-up */
    uint64_t processes;   /* distinct ones that loaded it */
    uint64_t loads;       /* load events that it came in */
    uint64_t asked_loads; /* of these, not as a dependency of another object */
    uint64_t unloads;     /* unload events that it left in */
    uint64_t stop_ns;     /* share of the stops: a stop is shared by the objects that were asked for in it */
    uint64_t handle_ns;   /* likewise its share of read_ns + handle_ns */
};

struct tg_library_totals {
    uint64_t load_events;    /* all kinds of found */
    uint64_t startup_events; /* of these */
    uint64_t loader_events;
    uint64_t catch_up_events;
    uint64_t agent_events;      /* seen without a stop */
    uint64_t in_process_events; /* of these: decided about by the dlopen filter */
    uint64_t unload_events;
    uint64_t null_events;
    uint64_t load_stop_ns;
    uint64_t unload_stop_ns;
    uint64_t null_stop_ns;
    uint64_t objects; /* objects in load events */
};

struct tg_library_model;

struct tg_error *tg_library_model_create(struct tg_library_model **model);
void tg_library_model_destroy(struct tg_library_model *model);
/* A second one that says the same and goes on from there on its own. */
struct tg_error *tg_library_model_copy(const struct tg_library_model *model, struct tg_library_model **copy);

/* Takes one event of the process with index PROCESS in the process model; other kinds than library events are
 * ignored. Only error: NO_MEMORY. Memory follows the distinct objects and the (process, object) pairs. */
struct tg_error *tg_library_model_feed(struct tg_library_model *model, const struct tg_event *event,
                                       size_t process);

struct tg_library_totals tg_library_model_totals(const struct tg_library_model *model);

size_t tg_library_model_count(const struct tg_library_model *model);

/* Sorts into USES (room for count pointers; they stay valid as long as the model): by first load, or by cost,
 * dearest first; equals in order of first appearance. */
void tg_library_model_by_time(const struct tg_library_model *model, const struct tg_library_use **uses);
void tg_library_model_by_cost(const struct tg_library_model *model, const struct tg_library_use **uses);

#endif
