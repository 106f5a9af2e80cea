/* Names that a person types, found as the language has them: in blocks, in files, in all objects of the
 * process. */
#ifndef TG_LIVE_INSPECT_VALUE_LOOKUP_H
#define TG_LIVE_INSPECT_VALUE_LOOKUP_H

#include "live/inspect/target/scene.h"
#include "recorder/dwarf/name_index.h"

enum tg_found_kind {
    TG_FOUND_NAME,   /* DIE is of KIND; of an enumerator the enum */
    TG_FOUND_SHARED, /* a member of the struct that a variable of an OpenMP region is shared by, or of a
                        member function's object: DIE is the parameter that points to it */
    TG_FOUND_SYMBOL, /* of the symbol table: ADDRESS and SIZE_BYTES are known, a type is not */
};

struct tg_found {
    enum tg_found_kind is;
    enum tg_name_kind kind;
    const struct tg_scene_object *object;
    Dwarf_Die die;
    uint64_t address, size_bytes;
};

enum tg_wanted {
    TG_WANTED_VALUE,  /* variables, functions, enumerators */
    TG_WANTED_TYPE,   /* typedefs and base types; in C++ classes too */
    TG_WANTED_STRUCT, /* after struct, union, enum, class */
};

/* Finds NAME: in the blocks around the frame's pc, innermost first; among what an OpenMP region is given; in
 * the frame's file, its object, the program, all others. FILE: only what that source file defines (a path's
 * end is enough), NULL: any. Errors: NOT_FOUND with similar names, USAGE where several files have a static
 * one. */
struct tg_error *tg_lookup(const struct tg_scene *scene, const char *file, const char *name,
                           enum tg_wanted wanted, struct tg_found *found);

/* Whether the frame's code is Fortran. */
bool tg_lookup_is_fortran(const struct tg_scene *scene);

/* The same, of types, without an error's words: whether there is one. */
bool tg_lookup_has_type(const struct tg_scene *scene, const char *name);

/* The definition of struct, union, class or enum NAME, in any unit of any object. */
bool tg_lookup_definition(const struct tg_scene *scene, const char *name, struct tg_found *found);

/* Calls TAKE for each variable and argument of the blocks around the frame's pc, innermost first, those of
 * inlined copies and the function included; until it returns false. */
void tg_lookup_each_local(const struct tg_scene *scene,
                          bool (*take)(void *context, const struct tg_scene_object *object, Dwarf_Die *die),
                          void *context);

#endif
