/* The dynamic-loader watcher: an engine observer that tells which libraries every process loads and unloads,
 * and runs the job under a dlopen filter setting as a debugger would.
 *
 * Where loader stops are taken, an internal breakpoint sits at r_brk from exec on, so that even libraries
 * which constructors open are seen as they come. Otherwise nothing is planted, and lists are read at the
 * stops that happen anyway. An event is decided by the filter; a reported one is handled at once, together
 * with whatever was deferred in that process; deferred ones wait for the process's next other stop. */
#ifndef TG_RECORDER_LOADER_LOADER_H
#define TG_RECORDER_LOADER_LOADER_H

#include "format/base/error.h"
#include "format/settings/dlopen_filter.h"
#include "recorder/breakpoints/user_breakpoints.h"
#include "recorder/engine/engine.h"
#include "recorder/inject/injector.h"
#include "recorder/process/image_cache.h"

#include <stdbool.h>

struct tg_loader;

enum tg_loader_watch {
    TG_LOADER_STOPS, /* stops at r_brk, except in fast mode */
    TG_LOADER_AGENT, /* the agent reports libraries; in processes without it, as STOPS */
    /* the agent's auditor decides by the filter, and stops the process for what is reported; without it, as STOPS */
    TG_LOADER_IN_PROCESS,
    TG_LOADER_BY_MODE,  /* programs that begin in Medium as IN_PROCESS, others as STOPS */
    TG_LOADER_CATCH_UP, /* nothing planted; lists are read at other stops */
    TG_LOADER_NONE,     /* libraries are not watched at all */
};

/* Whether auditors decide by the dlopen filter. */
static inline bool tg_loader_watch_is_by_filter(enum tg_loader_watch watch)
{
    return watch == TG_LOADER_IN_PROCESS || watch == TG_LOADER_BY_MODE;
}

/* Whether there are auditors at all, in programs that the agent is in. */
static inline bool tg_loader_watch_has_auditors(enum tg_loader_watch watch)
{
    return watch == TG_LOADER_AGENT || tg_loader_watch_is_by_filter(watch);
}

/* Libraries that were handled in a process. */
struct tg_loader_handled {
    const struct tg_break_object *objects; /* borrowed for the call */
    size_t count;
    bool late;          /* at a later stop than the one that showed, or would have shown, them ... */
    uint64_t window_ns; /* ... and for so long, at most, the program could run them; otherwise 0 */
};

/* A listener that plants breakpoints of its own in libraries: told when the setting in force has a debugger
 * look at them, on the tracer thread while THREAD, of their process, is stopped; after OPTIONS's breakpoints
 * were planted. Members may be NULL. */
struct tg_loader_listener {
    void *context;
    /* Start-up libraries, those of a reported event, and deferred ones at the stop that ended their wait; in
     * a forked child also what its parent's fork ended the wait of. Not the program itself. */
    void (*handled)(void *context, struct tg_thread *thread, const struct tg_loader_handled *handled);
    /* A library is gone from the process: breakpoints in its extent are forgotten when this returns. It may
     * never have been handled. */
    void (*unloaded)(void *context, struct tg_thread *thread, const struct tg_break_object *object);
};

/* The way of the filter to the agents' auditors: see recorder/rings/shared_filter.h. */
struct tg_loader_auditors {
    void *context;
    void (*end_old)(void *context);
    void (*begin_new)(void *context, const struct tg_dlopen_filter *filter);
};

struct tg_loader_options {
    enum tg_loader_watch launched;         /* for launched processes and what they create */
    enum tg_loader_watch attached;         /* for attached ones */
    const struct tg_dlopen_filter *filter; /* in force at first; read by tg_loader_create only */
    struct tg_image_cache *images;
    struct tg_user_breakpoints *breakpoints;   /* planted when libraries are handled; NULL none */
    const struct tg_loader_listener *listener; /* NULL none */
    struct tg_agent_injector *agent;           /* asked where the agent watches; NULL: it is in nothing */
    const struct tg_loader_auditors *auditors; /* with TG_LOADER_IN_PROCESS and BY_MODE; else NULL */
};

/* Adds itself to ENGINE (after OPTIONS's breakpoints and agent did) and must outlive it; what OPTIONS points
 * to must outlive both. */
struct tg_error *tg_loader_create(struct tg_engine *engine, const struct tg_loader_options *options,
                                  struct tg_loader **loader);
void tg_loader_destroy(struct tg_loader *loader); /* NULL is accepted */

/* FILTER, which is copied, is in force from now on, in all processes: a filter_settings event says so. On the
 * tracer thread, outside of stops (tg_engine_post) or inside of one. To fast mode, r_brk is taken away; from
 * it, planted, while threads run, and libraries loaded meanwhile are reported at once and deferred. What
 * waits goes on waiting for a reported event or another stop. Where auditors decide, a load is decided about by the
 * filter of its time, and nothing is read at once; with TG_LOADER_BY_MODE, programs that have not run yet get the auditor,
 * or lose it. A process in which r_brk cannot be planted is a
 * note in the trace and stays as in fast mode. Only error: NO_MEMORY, nothing is changed then. */
struct tg_error *tg_loader_set_filter(struct tg_loader *loader, const struct tg_dlopen_filter *filter);

/* In force; valid until it is set again. */
const struct tg_dlopen_filter *tg_loader_filter(const struct tg_loader *loader);

/* One library that is loaded in a process. */
struct tg_loader_library {
    struct tg_break_object object;
    unsigned namespace_index; /* 0: the base namespace */
    bool deferred;            /* waits to be handled */
};

/* Tells TAKE, which returns whether to go on, of every library that PROCESS is known to have loaded, in the
 * order of its lists; the program itself is not among them. Strings are borrowed for the call. Nothing is
 * read from the process: what it loaded where no stop showed it is not known yet. On the tracer thread. */
void tg_loader_each_library(const struct tg_loader *loader, const struct tg_process *process,
                            bool (*take)(void *context, const struct tg_loader_library *library),
                            void *context);

#endif
