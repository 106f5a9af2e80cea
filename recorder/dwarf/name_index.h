/* The names that an object's DWARF has outside of functions: variables, functions, types, enumerators. */
#ifndef TG_RECORDER_DWARF_NAME_INDEX_H
#define TG_RECORDER_DWARF_NAME_INDEX_H

#include "format/base/error.h"

#include <elfutils/libdw.h>
#include <stddef.h>

enum tg_name_kind {
    TG_NAME_VARIABLE,
    TG_NAME_FUNCTION,
    TG_NAME_TYPE,
    TG_NAME_STRUCT, /* a name behind struct, class, union, enum; in C++ a type's as well */
    TG_NAME_ENUMERATOR,
};

/* Reads all units at creation, at most some million names; not thread-safe. Serves all processes. */
struct tg_name_index;

/* DWARF must outlive it. Only error: NO_MEMORY. */
struct tg_error *tg_name_index_create(Dwarf *dwarf, struct tg_name_index **index);
/* NULL is accepted. */
void tg_name_index_destroy(struct tg_name_index *index);

/* The definitions (no declarations) of NAME from number *AT on, which it moves: the next one, false where
 * there are no more. NAME may be qualified with namespaces and classes: "a::b" finds b of any a. Start with
 * *AT 0. */
bool tg_name_index_next(const struct tg_name_index *index, const char *name, size_t *at,
                        enum tg_name_kind *kind, Dwarf_Die *die);

/* NAME without its qualification: "b" of "a<c::d>::b". */
const char *tg_name_index_simple(const char *name);

size_t tg_name_index_count(const struct tg_name_index *index);
/* A name, without its qualification. */
const char *tg_name_index_at(const struct tg_name_index *index, size_t i);

#endif
