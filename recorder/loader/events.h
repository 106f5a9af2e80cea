/* Load and unload events of a process that is watched: emitted, decided by the filter, handled or left
 * waiting. THREAD, of the process, is stopped, or (catching up after a change of the filter) runs. */
#ifndef TG_RECORDER_LOADER_EVENTS_H
#define TG_RECORDER_LOADER_EVENTS_H

#include "recorder/loader/loader_internal.h"

/* Whether somebody wants to know when libraries are handled: who plants breakpoints in them. */
bool tg_loader_has_users(const struct tg_loader *loader);

/* The subject of one load event of a process. */
struct tg_loader_load {
    enum tg_library_found found;
    unsigned namespace_index;
    uint64_t state;
    uint64_t read_ns;
    struct tg_loaded_object *const *objects;
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

/* OBJECT is gone from the process, which makes no event: its breakpoints are forgotten. */
void tg_loader_drop_object(struct tg_loader *loader, struct tg_thread *thread,
                           const struct tg_loaded_object *object);

/* Handles what waits. FINAL: the process is about to end, planting is of no use any more. */
void tg_loader_handle_waiting(struct tg_loader *loader, struct tg_thread *thread,
                              enum tg_stop_trigger trigger, bool final);

/* Handles COUNT libraries that were left WAITING; returns the time that it took. */
uint64_t tg_loader_handle_late(struct tg_loader *loader, struct tg_thread *thread,
                               const struct tg_waiting_library *waiting, size_t count);

/* PROCESS has ended, or another program replaced its own: what waits there is never handled. */
void tg_loader_drop(struct tg_loader *loader, struct tg_process *process);

#endif
