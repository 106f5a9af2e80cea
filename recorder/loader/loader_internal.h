/* The loader watcher's state, which its files share and nobody else includes. Lower files first:
 *
 * process.c  what is known of one process
 * notes.c    notes and losses
 * events.c   what a list's change becomes: events, decisions, handling, what waits
 * in_process.c  processes whose auditor decides
 * stops.c    loader stops and other stops of a process
 * filter.c   the filter setting and what it changes; the libraries of a process
 * watcher.c  the observer */
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

#endif
