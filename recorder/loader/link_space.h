/* One namespace of the dynamic loader: the list of its objects as last read, and what changed in it. */
#ifndef TG_RECORDER_LOADER_LINK_SPACE_H
#define TG_RECORDER_LOADER_LINK_SPACE_H

#include "recorder/loader/loaded_object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_LINK_MAP_MAX_OBJECTS = 65536, /* per namespace */
    TG_LINK_MAP_MAX_NAMESPACES = 64,
    TG_LINK_SPACE_PLACE_BITS = 14,
};

/* r_state of <link.h> */
enum tg_link_state {
    TG_LINK_CONSISTENT,
    TG_LINK_ADD,
    TG_LINK_DELETE,
};

/* The changes in one namespace. The lists belong to the struct tg_link_maps and hold until its next call. */
struct tg_link_change {
    unsigned namespace_index; /* 0: the base namespace; others in the order in which they were first seen */
    uint64_t state;           /* enum tg_link_state, or whatever else was there */
    struct tg_loaded_object **added; /* in list order; libraries only */
    size_t n_added;
    struct tg_loaded_object **removed;
    size_t n_removed;
};

struct tg_link_delta {
    uint64_t state; /* state of the first namespace that is not consistent, else TG_LINK_CONSISTENT */
    const struct tg_link_change *changes;
    size_t n_changes;    /* 0: nothing changed */
    const char *problem; /* static text where a list could not be read or is none; NULL: all is well */
    uint64_t problem_address;
    bool took_along; /* the range of tg_link_maps_take_along was read */
};

/* One namespace. PLACES: bits of where its objects are, by their addresses; may be others'. */
struct tg_link_space {
    uint64_t debug; /* address of its r_debug */
    struct tg_loaded_object **objects;
    size_t count;
    size_t capacity;
    uint64_t places[(1 << TG_LINK_SPACE_PLACE_BITS) / 64];
    uint64_t expected; /* the last look found an addition under way and its first node there; 0 unknown */
    bool suspect;      /* compare the whole list next time: an unload was under way, or a read failed */
    bool adding;       /* the last look found an addition under way and left it */
};

/* Appends OBJECT; takes over its reference. False without memory. */
bool tg_link_space_append(struct tg_link_space *space, struct tg_loaded_object *object);
/* Whether one of the first COUNT objects of SPACE is at ADDRESS. What is new there has taken the place of one that has
 * gone. */
bool tg_link_space_has(const struct tg_link_space *space, size_t count, uint64_t address);

/* Unreferences all of OBJECTS, and frees the list. */
void tg_link_objects_drop(struct tg_loaded_object ***objects, size_t *count);
/* Appends OBJECT to a list of changes, with a reference of its own; does nothing where it is no library. False without
 * memory. */
bool tg_link_objects_note(struct tg_loaded_object ***objects, size_t *count, struct tg_loaded_object *object);

/* The first problem stays. TEXT is static. */
void tg_link_delta_set_problem(struct tg_link_delta *delta, const char *text, uint64_t address);

extern const char tg_link_out_of_memory[];
extern const char tg_link_broken_list[];
extern const char tg_link_unreadable_name[];
extern const char tg_link_too_long[];

#endif
