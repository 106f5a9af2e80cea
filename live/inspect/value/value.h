/* Values of variables and of expressions: what is of them, where they are, what they are as numbers. */
#ifndef TG_LIVE_INSPECT_VALUE_VALUE_H
#define TG_LIVE_INSPECT_VALUE_VALUE_H

#include "live/inspect/value/location.h"
#include "live/inspect/value/lookup.h"
#include "live/inspect/value/type.h"

enum {
    TG_VALUE_MAX_DIMENSIONS = 8,
};

struct tg_dimension {
    int64_t lower; /* the first index */
    uint64_t count;
    int64_t stride_bytes;
    bool has_count; /* false: no bound is known (char name[]) */
    bool is_slice;  /* restricted already; the next index goes to the next dimension */
};

/* The caller's storage; nothing in it is to be freed. Valid as long as its scene. */
struct tg_value {
    struct tg_type type;  /* of an array: of its elements */
    struct tg_type array; /* of an array: as it is declared */
    struct tg_location location;
    uint64_t offset_bytes;         /* in LOCATION */
    unsigned bit_offset, bit_size; /* of a bit-field, in bits from OFFSET_BYTES; size 0: it is none */
    bool is_by_columns;    /* indexes are written the other way around than dimensions are (Fortran) */
    unsigned n_dimensions; /* the slowest first; 0: no array */
    struct tg_dimension dimensions[TG_VALUE_MAX_DIMENSIONS];
};

/* A number, as C's arithmetic has it. */
struct tg_number {
    enum tg_basic_type type; /* BOOL to LONG_DOUBLE */
    bool is_real;
    bool is_unsigned;
    unsigned size_bytes;
    uint64_t low, high; /* integers, sign-extended to 128 bits */
    long double real;
};

/* The value of a variable's or function's DIE. Errors: those of locations. */
struct tg_error *tg_value_of_variable(const struct tg_scene *scene, const struct tg_scene_object *object,
                                      Dwarf_Die *die, struct tg_value *value);
/* The value of a name that was found. */
struct tg_error *tg_value_of_found(const struct tg_scene *scene, const struct tg_found *found,
                                   const char *name, struct tg_value *value);
/* The value of TYPE in memory at ADDRESS. Errors: those of array bounds. */
struct tg_error *tg_value_at(const struct tg_scene *scene, uint64_t address, const struct tg_type *type,
                             struct tg_value *value);
/* VALUE, whose location is set, becomes one of TYPE: the dimensions of an array are read. Errors: those of
 * array bounds. */
struct tg_error *tg_value_set_type(const struct tg_scene *scene, struct tg_value *value,
                                   const struct tg_type *type);
/* VALUE's location becomes a constant of the debug information. Errors: INPUT. */
struct tg_error *tg_value_set_constant(Dwarf_Attribute *attribute, struct tg_value *value);
/* A computed value of TYPE, SIZE bytes [0, 16]. */
struct tg_value tg_value_computed(const struct tg_type *type, const void *bytes, size_t size);
struct tg_value tg_value_of_number(const struct tg_number *number);
struct tg_value tg_value_pointer(const struct tg_type *target, uint64_t address);

/* Bytes of all of it. False: not known (no bounds). */
bool tg_value_size(const struct tg_value *value, uint64_t *size_bytes);

/* Bytes [OFFSET, OFFSET + SIZE) of it. Errors: TARGET, NOT_FOUND ("optimized out"), LIMIT. */
struct tg_error *tg_value_read(const struct tg_scene *scene, const struct tg_value *value, uint64_t offset,
                               size_t size, void *buffer);

/* The number of VALUE: a scalar's, the address of an array or a function. Errors: USAGE, not a number. */
struct tg_error *tg_value_number(const struct tg_scene *scene, const struct tg_value *value,
                                 struct tg_number *number);
/* The number that SIZE bytes are as TYPE, a scalar. */
struct tg_error *tg_value_decode(const struct tg_type *type, const void *bytes, size_t size,
                                 struct tg_number *number);

/* Whether it is in memory, and where. */
bool tg_value_address(const struct tg_value *value, uint64_t *address);

/* The member NAME of a struct or union, also of an anonymous one and of base classes. Errors: NOT_FOUND, with
 * the members that there are. */
struct tg_error *tg_value_member(const struct tg_scene *scene, const struct tg_value *value, const char *name,
                                 struct tg_value *member);
/* Whether VALUE, a struct or union, has a member NAME that can be located. */
bool tg_value_has_member(const struct tg_scene *scene, const struct tg_value *value, const char *name);
/* What VALUE, a class(T) of gfortran's, holds: a T, which may be the beginning of what extends T, and the address of the table
 * of its own type. False: VALUE is none, or holds nothing. */
bool tg_value_class(const struct tg_scene *scene, const struct tg_value *value, struct tg_value *data,
                    uint64_t *table);
/* The member that DIE (DW_TAG_member or DW_TAG_inheritance) of its type is. */
struct tg_error *tg_value_member_at(const struct tg_scene *scene, const struct tg_value *value,
                                    Dwarf_Die *die, struct tg_value *member);

/* Element INDEX of its first dimension that is no slice. No bounds are kept: C has none. Errors: USAGE,
 * LIMIT. */
struct tg_error *tg_value_index(const struct tg_scene *scene, const struct tg_value *value, int64_t index,
                                struct tg_value *element);
/* The same, of the dimension that varies fastest first: Fortran's order of indexes. */
struct tg_error *tg_value_column(const struct tg_scene *scene, const struct tg_value *value, int64_t index,
                                 struct tg_value *element);
/* Element I of its first dimension, counted from 0 as it is in memory, to show it. */
struct tg_error *tg_value_element(const struct tg_scene *scene, const struct tg_value *value, uint64_t i,
                                  struct tg_value *element);
/* Elements FIRST to LAST (both included; NULL: to that end) of its first dimension that is no slice, or,
 * COLUMNS, of the last one. A pointer is taken for an array without end. Errors: USAGE: outside of the
 * bounds, or none. */
struct tg_error *tg_value_slice(const struct tg_scene *scene, const struct tg_value *value,
                                const int64_t *first, const int64_t *last, bool columns,
                                struct tg_value *slice);
/* COUNT things like VALUE, one behind the other from where it is. Errors: USAGE. */
struct tg_error *tg_value_repeat(const struct tg_scene *scene, const struct tg_value *value, uint64_t count,
                                 struct tg_value *array);

/* Target of a pointer; the first element of an array; the function itself. Errors: USAGE, TARGET. */
struct tg_error *tg_value_dereference(const struct tg_scene *scene, const struct tg_value *value,
                                      struct tg_value *target);
/* Target of a reference; anything else is itself. */
struct tg_error *tg_value_follow(const struct tg_scene *scene, struct tg_value *value);

/* The definition of a struct that its unit only declares, where another unit or object has it; else TYPE. */
struct tg_type tg_value_complete_type(const struct tg_scene *scene, const struct tg_type *type);

#endif
