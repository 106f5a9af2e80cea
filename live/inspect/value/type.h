/* Types of variables as DWARF describes them, and those of expressions: C's own and pointers to either. */
#ifndef TG_LIVE_INSPECT_VALUE_TYPE_H
#define TG_LIVE_INSPECT_VALUE_TYPE_H

#include "live/inspect/target/scene.h"

#include <stdio.h>

/* name, size in bytes, kind */
#define TG_BASIC_TYPES(X)                                                                                    \
    X(VOID, "void", 1, VOID)                                                                                 \
    X(BOOL, "_Bool", 1, BOOL)                                                                                \
    X(CHAR, "char", 1, CHAR)                                                                                 \
    X(SIGNED_CHAR, "signed char", 1, CHAR)                                                                   \
    X(UNSIGNED_CHAR, "unsigned char", 1, UNSIGNED_CHAR)                                                      \
    X(SHORT, "short", 2, SIGNED)                                                                             \
    X(UNSIGNED_SHORT, "unsigned short", 2, UNSIGNED)                                                         \
    X(INT, "int", 4, SIGNED)                                                                                 \
    X(UNSIGNED, "unsigned int", 4, UNSIGNED)                                                                 \
    X(LONG, "long", 8, SIGNED)                                                                               \
    X(UNSIGNED_LONG, "unsigned long", 8, UNSIGNED)                                                           \
    X(LONG_LONG, "long long", 8, SIGNED)                                                                     \
    X(UNSIGNED_LONG_LONG, "unsigned long long", 8, UNSIGNED)                                                 \
    X(INT128, "__int128", 16, SIGNED)                                                                        \
    X(UNSIGNED_INT128, "unsigned __int128", 16, UNSIGNED)                                                    \
    X(FLOAT, "float", 4, FLOAT)                                                                              \
    X(DOUBLE, "double", 8, FLOAT)                                                                            \
    X(LONG_DOUBLE, "long double", 16, FLOAT)

enum tg_basic_type {
#define X(name, text, size, kind) TG_BASIC_##name,
    TG_BASIC_TYPES(X)
#undef X
};

enum tg_type_kind {
    TG_TYPE_VOID,
    TG_TYPE_BOOL,
    TG_TYPE_CHAR, /* signed */
    TG_TYPE_UNSIGNED_CHAR,
    TG_TYPE_SIGNED,
    TG_TYPE_UNSIGNED,
    TG_TYPE_FLOAT,
    TG_TYPE_COMPLEX,
    TG_TYPE_ENUM,
    TG_TYPE_POINTER,
    TG_TYPE_REFERENCE,
    TG_TYPE_STRUCT, /* classes too */
    TG_TYPE_UNION,
    TG_TYPE_ARRAY,
    TG_TYPE_STRING, /* Fortran's CHARACTER */
    TG_TYPE_FUNCTION,
    TG_TYPE_OTHER,
};

/* POINTERS times a pointer to what DIE or, where DIE.addr is NULL, BASIC is. */
struct tg_type {
    const struct tg_scene_object *object; /* with DIE; NULL with a basic type */
    Dwarf_Die die;
    enum tg_basic_type basic;
    unsigned pointers;
};

struct tg_type tg_type_basic(enum tg_basic_type basic);
struct tg_type tg_type_pointer_to(const struct tg_type *type);
/* DIE itself. */
struct tg_type tg_type_of_die(const struct tg_scene_object *object, const Dwarf_Die *die);

/* DW_AT_type of DIE, which OBJECT has; void where it has none. False: it cannot be read. */
bool tg_type_of(const struct tg_scene_object *object, Dwarf_Die *die, struct tg_type *type);

/* Without its typedefs and qualifiers. */
struct tg_type tg_type_strip(const struct tg_type *type);
enum tg_type_kind tg_type_kind(const struct tg_type *type);
/* Whether it is a number, an enum or a pointer: what an expression computes with. */
bool tg_type_is_scalar(enum tg_type_kind kind);

/* A constant of the debug information: those of fixed size have no sign (DW_FORM_data1 and so on). */
bool tg_type_constant(Dwarf_Attribute *attribute, int64_t *number);

/* Target of a pointer or reference, element of an array, result of a function. */
bool tg_type_target(const struct tg_type *type, struct tg_type *target);

/* Bytes. False where it depends on the frame, or is not known. */
bool tg_type_size(const struct tg_type *type, uint64_t *size_bytes);

/* As C writes it ("char *[10]"), safe for a terminal. */
void tg_type_print(const struct tg_type *type, FILE *out);

/* Whether its DIE is of a Fortran unit: arrays are by columns. */
bool tg_type_is_fortran(const struct tg_type *type);
/* Whether the language of its unit has namespaces, classes or modules around functions: any but C. */
bool tg_type_has_scopes(const struct tg_type *type);

#endif
