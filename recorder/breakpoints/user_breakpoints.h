/* The breakpoints that a user asked for (`record --break SPEC`): specifications are resolved in each loaded
 * object when its turn comes, planted, and their hits recorded; the process goes on at once.
 *
 * It decides nothing about when: whoever watches the loader calls tg_user_breakpoints_plant when the filter
 * mode in force has a library handled, and tg_user_breakpoints_unload when one is gone. What it sees for
 * itself, as an observer of the engine: the program, planted when it is loaded (at attach: at once), and what
 * forks, execs and ends do to sites. All calls on the tracer thread. */
#ifndef TG_RECORDER_BREAKPOINTS_USER_BREAKPOINTS_H
#define TG_RECORDER_BREAKPOINTS_USER_BREAKPOINTS_H

#include "recorder/breakpoints/fate.h"
#include "recorder/breakpoints/object.h"
#include "recorder/engine/engine.h"
#include "recorder/process/image_cache.h"

struct tg_user_breakpoints;

/* No specification yet. Adds an observer to ENGINE, so create it before the observer that calls it is added
 * (callbacks run in that order: sites of an old program are gone before those of the new one are planted).
 * ENGINE and CACHE must outlive it, and it must outlive ENGINE's run. */
struct tg_error *tg_user_breakpoints_create(struct tg_engine *engine, struct tg_image_cache *cache,
                                            struct tg_user_breakpoints **breakpoints);
/* NULL is accepted. */
void tg_user_breakpoints_destroy(struct tg_user_breakpoints *breakpoints);

/* Adds the specification TEXT (format/settings/break_spec.h, whose errors these are); its id is the count
 * so far, from 1. Only before tg_user_breakpoints_start. */
struct tg_error *tg_user_breakpoints_add(struct tg_user_breakpoints *breakpoints, const char *text);

/* NULL, here and in the two below that plant and unload: none. */
size_t tg_user_breakpoints_count(const struct tg_user_breakpoints *breakpoints);

/* Emits one breakpoint_spec event per specification. Once, before the first process runs. */
void tg_user_breakpoints_start(struct tg_user_breakpoints *breakpoints);

/* Resolves every specification in each of the COUNT OBJECTS and plants what is found in THREAD's process,
 * with one breakpoint_planted event each, LATE and WINDOW_NS as given. A site that is there already is left
 * alone. An object that cannot be read, or an address that cannot be planted, is a note in the trace. With
 * only function names to look for, an object costs one hash lookup per name, its file being opened once for
 * all processes; with no specification, nothing. Returns the time that it took, in ns.
 *
 * Absolute addresses (`*ADDRESS` without a library) are planted with the object that holds them; those of no
 * object (the vdso, the dynamic loader before its start) together with the program. */
uint64_t tg_user_breakpoints_plant(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread,
                                   const struct tg_break_object *objects, size_t count, bool late,
                                   uint64_t window_ns);

/* OBJECTS were unmapped from THREAD's process: one breakpoint_removed event for each site in them, and the
 * engine forgets the sites without touching the memory. Call it before what was mapped in their place is
 * planted. */
void tg_user_breakpoints_unload(struct tg_user_breakpoints *breakpoints, struct tg_thread *thread,
                                const struct tg_break_object *objects, size_t count);

/* OBJECT waited to be handled, and never will be. */
void tg_user_breakpoints_miss(struct tg_user_breakpoints *breakpoints, const struct tg_break_object *object,
                              enum tg_break_miss why);

/* At the end: one TEXT, valid for the call, for each specification that was never planted, with the reason.
 * RARELY as for tg_break_fate_describe. */
void tg_user_breakpoints_tell_unplanted(const struct tg_user_breakpoints *breakpoints, bool rarely,
                                        void (*tell)(void *context, const char *text), void *context);

#endif
