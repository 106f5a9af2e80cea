/*
 * The dynamic-loader watcher: an engine observer that tells which libraries every process loads and unloads,
 * and runs the job under a dlopen filter setting as a debugger would.
 *
 * Where loader stops are taken, an internal breakpoint sits at r_brk from exec on, so that even libraries
 * which constructors open are seen as they come. Otherwise nothing is planted, and lists are read at the
 * stops that happen anyway. An event is decided by the filter; a reported one is handled at once, together
 * with whatever was deferred in that process; deferred ones wait for the process's next other stop.
 */
#ifndef TG_RECORDER_LOADER_H
#define TG_RECORDER_LOADER_H

#include "format/dlopen_filter.h"
#include "format/error.h"
#include "recorder/agent_injector.h"
#include "recorder/engine.h"
#include "recorder/image_cache.h"
#include "recorder/user_breakpoints.h"

struct tg_loader;

enum tg_loader_watch {
    TG_LOADER_STOPS,    /* stops at r_brk, except in fast mode */
    TG_LOADER_AGENT,    /* the agent tells of libraries; where it is not in, as STOPS */
    TG_LOADER_CATCH_UP, /* nothing planted; lists are read at other stops */
    TG_LOADER_NONE,     /* libraries are not watched at all */
};

struct tg_loader_options {
    enum tg_loader_watch launched; /* for launched processes and what they create */
    enum tg_loader_watch attached; /* for attached ones */
    const struct tg_dlopen_filter *filter;
    struct tg_image_cache *images;
    struct tg_user_breakpoints *breakpoints; /* planted when libraries are handled */
    const struct tg_agent_injector
        *agent; /* asked where TG_LOADER_AGENT is watched; NULL: it is in nothing */
};

/* Adds itself to ENGINE (after OPTIONS's breakpoints and agent did) and must outlive it; what OPTIONS points
 * to must outlive both. */
struct tg_error *tg_loader_create(struct tg_engine *engine, const struct tg_loader_options *options,
                                  struct tg_loader **loader);
void tg_loader_destroy(struct tg_loader *loader); /* NULL is accepted */

#endif
