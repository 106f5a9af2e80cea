/* What the loader watcher's files share and nobody else includes.
 *
 * loader.c          the observer: start-up, loader stops, other stops
 * recorder/loader/events.c   what a list's change becomes: events, decisions, handling, what waits
 * recorder/loader/filter.c   the filter setting and what it changes; who is asked for the libraries of a process
 * recorder/loader/process.c  what is known of one process */
#ifndef TG_RECORDER_LOADER_LOADER_INTERNAL_H
#define TG_RECORDER_LOADER_LOADER_INTERNAL_H

#include "recorder/loader/link_map.h"
#include "recorder/loader/loader.h"
#include "recorder/loader/process.h"

struct tg_loader {
    struct tg_engine *engine;
    struct tg_loader_options options;
    struct tg_dlopen_filter filter; /* in force: its own copy */
    struct tg_observer observer;
    size_t slot;
};

static inline struct tg_loader_process *tg_loader_watched(const struct tg_loader *loader,
                                                          const struct tg_thread *thread)
{
    return thread->process->data[loader->slot];
}

/* Whether somebody wants to know when libraries are handled: who plants breakpoints in them. */
bool tg_loader_has_users(const struct tg_loader *loader);

void tg_loader_note(struct tg_loader *loader, struct tg_thread *thread, const char *text);
void tg_loader_lose(struct tg_loader *loader, struct tg_thread *thread, const char *reason);

/* ---- recorder/loader/events.c. All of a process that is watched; THREAD, of it, is stopped, or (catching up after a
 * change of the filter) runs. */

/* What one load event of a process is about. */
struct tg_loader_load {
    enum tg_library_found found;
    unsigned namespace_index;
    uint64_t state;
    uint64_t read_ns;
    struct tg_object *const *objects;
    size_t count;
};

/* Tells of LOAD, has the filter decide, and handles what is to be handled. SINCE_NS: from when on the program
 * could use the libraries. */
void tg_loader_tell_load(struct tg_loader *loader, struct tg_thread *thread,
                         const struct tg_loader_load *load, uint64_t since_ns);

/* The same for all that changed; READ_NS: what the reading took. */
void tg_loader_tell_changes(struct tg_loader *loader, struct tg_thread *thread,
                            const struct tg_link_delta *delta, enum tg_library_found found, uint64_t read_ns,
                            uint64_t since_ns);

/* Handles what waits. FINAL: the process is about to end, planting is of no use any more. */
void tg_loader_handle_waiting(struct tg_loader *loader, struct tg_thread *thread,
                              enum tg_stop_trigger trigger, bool final);

/* Handles COUNT libraries that were left WAITING; returns the time that it took. */
uint64_t tg_loader_handle_late(struct tg_loader *loader, struct tg_thread *thread,
                               const struct tg_waiting_library *waiting, size_t count);

/* ---- loader.c */

/* Plants r_brk where it is wanted and is not there yet. */
void tg_loader_plant(struct tg_loader *loader, struct tg_thread *thread);
/* Takes it away where it is there. */
void tg_loader_unplant(struct tg_loader *loader, struct tg_process *process);

#endif
