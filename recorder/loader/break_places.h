/* Places for breakpoints: a breakpoint specification is looked for in a process, at any time, in its
 * program and in all libraries that were handled there (recorder/loader/loader.h). It plants nothing. */
#ifndef TG_RECORDER_LOADER_BREAK_PLACES_H
#define TG_RECORDER_LOADER_BREAK_PLACES_H

#include "format/settings/break_spec.h"
#include "recorder/breakpoints/object.h"
#include "recorder/loader/loader.h"

struct tg_break_places; /* the tracer thread's */

/* LOADER and CACHE must outlive it. LOADER NULL: no library is ever known. */
struct tg_error *tg_break_places_create(const struct tg_loader *loader, struct tg_image_cache *cache,
                                        struct tg_break_places **places);
void tg_break_places_destroy(struct tg_break_places *places); /* NULL is accepted */

struct tg_break_place {
    uint64_t address; /* in the process */
    char *library;    /* path of the object that it is in, "" for memory of none */
    char *file;       /* as its line table names it, "" not known */
    uint64_t line;    /* 0 not known */
};

/* Fills at most MAX of FOUND with the places of SPEC in PROCESS, whose threads may run, and *N with how many
 * they are (0: it is not there yet): first those in the program, then by library in the order of the
 * loader's lists. An *ADDRESS without a library is one place wherever the process has memory. Objects that
 * cannot be read have none. An object in which SPEC was not found is remembered and not opened again.
 *
 * What is FOUND is the caller's to release. Only error: NO_MEMORY, *N is then 0. */
struct tg_error *tg_break_places_find(struct tg_break_places *places, const struct tg_process *process,
                                      const struct tg_break_spec *spec, struct tg_break_place *found,
                                      size_t max, size_t *n);

/* The same in COUNT OBJECTS of PROCESS alone: those that were just handled. An *ADDRESS without a library is
 * found where one of them holds it. */
struct tg_error *tg_break_places_find_in(struct tg_break_places *places, const struct tg_process *process,
                                         const struct tg_break_object *objects, size_t count,
                                         const struct tg_break_spec *spec, struct tg_break_place *found,
                                         size_t max, size_t *n);

/* Frees what FOUND[0] to FOUND[N - 1] point to. */
void tg_break_places_release(struct tg_break_place *found, size_t n);

#endif
