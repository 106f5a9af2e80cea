/* The dynamic loader's own lists in a traced process: r_debug (one per namespace) and the struct link_map
 * chains behind it, read incrementally. Works for any loader with the SVR4 debugger interface (<link.h>):
 * glibc, musl.
 *
 * Nothing here needs ptrace or symbols, only readable memory. What is read is untrusted: counts, lengths and
 * the shape of every list are bounded, and what cannot be is reported as a problem instead of being
 * believed. */
#ifndef TG_RECORDER_LOADER_LINK_MAP_H
#define TG_RECORDER_LOADER_LINK_MAP_H

#include "recorder/loader/link_space.h"
#include "recorder/process/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tg_link_maps; /* one process's lists as last read */

/* NULL without memory. BITS: 64 or 32, the program's own layout. R_DEBUG is the base namespace's
 * (recorder/loader/rendezvous.h). */
struct tg_link_maps *tg_link_maps_create(unsigned bits, uint64_t r_debug);
/* For a forked child: the same lists, objects shared. NULL without memory. */
struct tg_link_maps *tg_link_maps_copy(const struct tg_link_maps *maps);
void tg_link_maps_destroy(struct tg_link_maps *maps); /* NULL is accepted */

/* r_brk and r_state of the base namespace as they are now; false where they cannot be read. */
bool tg_link_maps_peek(const struct tg_link_maps *maps, pid_t pid, uint64_t *r_brk, uint64_t *state);

/* How closely to look. */
enum tg_link_look {
    TG_LINK_LOOK_NEW,   /* read on from the tail */
    TG_LINK_LOOK_ADDED, /* the same, and an addition is known to be complete, whatever r_state says */
    TG_LINK_LOOK_WHOLE, /* compare the whole list: stops may have been missed */
    TG_LINK_LOOK_LAST,  /* the same, and do not wait for the end of an addition: there is no next time */
};

/* Reads what changed since the last call. Normally one system call per namespace: r_debug and the last object
 * known, from which new ones are read on. The whole list is compared after an RT_DELETE, when the tail is not
 * what it was, and where LOOK asks for it.
 *
 * What a namespace in state RT_ADD shows is not told yet: the list holds the first object of a load, its
 * dependencies are still to come, and all of them are one change. It is told at the next call, consistent or
 * not: loaders were seen to say RT_ADD twice in a row. DELTA is always filled in. */
void tg_link_maps_update(struct tg_link_maps *maps, pid_t pid, enum tg_link_look look,
                         struct tg_link_delta *delta);

/* The next update reads RANGE in the same system call as r_debug, for the caller's own purposes. */
void tg_link_maps_take_along(struct tg_link_maps *maps, const struct tg_memory_range *range);

/* In the next update, a namespace in state RT_ADD whose list the loader has not said yet begins with the link map HEAD: glibc
 * fills in r_map when it adds a second object. */
void tg_link_maps_begin_at(struct tg_link_maps *maps, uint64_t head);

/* Every object known, the main program included, for NAMESPACE in [0, namespaces) and I in [0, count). */
size_t tg_link_maps_namespaces(const struct tg_link_maps *maps);
size_t tg_link_maps_count(const struct tg_link_maps *maps, size_t namespace_index);
struct tg_loaded_object *tg_link_maps_at(const struct tg_link_maps *maps, size_t namespace_index, size_t i);

#endif
