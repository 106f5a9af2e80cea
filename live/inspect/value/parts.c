#include "live/inspect/value/value.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    MAX_DEPTH = 24, /* of anonymous members and base classes */
    MAX_MEMBERS = 65536,
    MAX_TOLD = 12, /* members that an error names */
};

/* From VALUE the part at OFFSET bytes: a new place where it is in memory. */
static void move(struct tg_value *value, uint64_t offset)
{
    uint64_t address;
    if (tg_value_address(value, &address) && value->location.n_pieces == 1) {
        value->location = tg_location_memory(address + offset);
        value->offset_bytes = 0;
    } else {
        value->offset_bytes += offset;
    }
}

/* Sets the type of a part, and reads the dimensions where it is an array. */
static struct tg_error *settle_part(const struct tg_scene *scene, struct tg_value *part,
                                    const struct tg_type *type)
{
    uint64_t address;
    part->type = *type;
    part->n_dimensions = 0;
    if (part->bit_size == 0 && part->location.n_pieces == 1 && tg_value_address(part, &address))
        return tg_value_at(scene, address, type, part);
    if (tg_type_kind(type) != TG_TYPE_ARRAY)
        return NULL;
    struct tg_value shape; /* not in memory: the bounds are constants */
    struct tg_error *error = tg_value_at(scene, 0, type, &shape);
    if (error != NULL)
        return error;
    shape.location = part->location;
    shape.offset_bytes = part->offset_bytes;
    *part = shape;
    return NULL;
}

static bool read_unsigned(Dwarf_Die *die, unsigned name, uint64_t *number)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;
    if (dwarf_attr(die, name, &attribute) == NULL || dwarf_formudata(&attribute, &word) != 0)
        return false;
    *number = word;
    return true;
}

/* Finds the bits of a bit-field in MEMBER, which is at its struct's place plus its offset. */
static struct tg_error *find_bits(Dwarf_Die *die, const struct tg_type *type, struct tg_value *member)
{
    uint64_t size, offset, storage = 0;
    if (!read_unsigned(die, DW_AT_bit_size, &size))
        return NULL;
    if (size == 0 || size > 128)
        return tg_error_create(TG_ERROR_INPUT, "a bit-field with an impossible size");
    if (read_unsigned(die, DW_AT_data_bit_offset, &offset)) {
        if (offset > INT64_MAX)
            return tg_error_create(TG_ERROR_INPUT, "a bit-field in an impossible place");
    } else if (read_unsigned(die, DW_AT_bit_offset, &offset)) { /* DWARF 2 and 3: from the other end */
        if (!read_unsigned(die, DW_AT_byte_size, &storage) && !tg_type_size(type, &storage))
            storage = 0;
        if (storage > 16 || offset + size > storage * 8)
            return tg_error_create(TG_ERROR_INPUT, "a bit-field in an impossible place");
        offset = storage * 8 - offset - size;
    } else {
        offset = 0;
    }
    move(member, offset / 8);
    member->bit_offset = (unsigned)(offset % 8);
    member->bit_size = (unsigned)size;
    return NULL;
}

struct tg_error *tg_value_member_at(const struct tg_scene *scene, const struct tg_value *value,
                                    Dwarf_Die *die, struct tg_value *result)
{
    struct tg_value member = *value;
    Dwarf_Attribute attribute;
    struct tg_type type;
    int64_t offset = 0;
    uint64_t address;
    bool has_address = tg_value_address(value, &address);
    if (!tg_type_of(value->type.object, die, &type))
        return tg_error_create(TG_ERROR_INPUT, "invalid debug information for a member");
    if (dwarf_attr(die, DW_AT_data_member_location, &attribute) != NULL) {
        struct tg_error *error =
            tg_location_number(scene, value->type.object, &attribute, has_address ? &address : NULL, &offset);
        if (error != NULL)
            return error;
        unsigned form = dwarf_whatform(&attribute);
        if (has_address && (form == DW_FORM_exprloc || form == DW_FORM_block1))
            offset = (int64_t)((uint64_t)offset - address);
    }
    move(&member, (uint64_t)offset);
    struct tg_error *error = find_bits(die, &type, &member);
    if (error == NULL)
        error = settle_part(scene, &member, &type);
    if (error == NULL)
        *result = member;
    return error;
}

/* The part of an extended type of Fortran that is what it extends: it is called as that type is. */
static bool is_parent(const struct tg_type *type, Dwarf_Die *member, const char *name)
{
    struct tg_type part;
    if (!tg_type_is_fortran(type) || !tg_type_of(type->object, member, &part) ||
        tg_type_kind(&part) != TG_TYPE_STRUCT)
        return false;
    part = tg_type_strip(&part);
    const char *called = dwarf_diename(&part.die);
    return name != NULL && called != NULL && strcmp(called, name) == 0;
}

/* Whether a member of TYPE that is called IS is meant by NAME: in Fortran, letters of any size are the same. */
static bool is_named(const struct tg_type *type, const char *is, const char *name)
{
    return strcmp(is, name) == 0 || (strcasecmp(is, name) == 0 && tg_type_is_fortran(type));
}

/* Looks for NAME in VALUE, also in its unnamed members and base classes. *FOUND says whether. */
static struct tg_error *find_member(const struct tg_scene *scene, const struct tg_value *value,
                                    const char *name, unsigned depth, struct tg_value *member, bool *found)
{
    struct tg_type type = tg_type_strip(&value->type);
    Dwarf_Die child;
    unsigned seen = 0;
    if (depth == MAX_DEPTH || type.die.addr == NULL || type.pointers > 0)
        return NULL;
    for (int more = dwarf_child(&type.die, &child); more == 0 && ++seen < MAX_MEMBERS && !*found;
         more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        const char *is = dwarf_diename(&child);
        struct tg_value part;
        struct tg_error *error = NULL;
        if (tag == DW_TAG_member && is != NULL && is_named(&type, is, name) &&
            !dwarf_hasattr(&child, DW_AT_external)) {
            *found = true;
            return tg_value_member_at(scene, value, &child, member);
        }
        if (tag != DW_TAG_inheritance && (tag != DW_TAG_member || is != NULL) &&
            !is_parent(&type, &child, is))
            continue;
        error = tg_value_member_at(scene, value, &child, &part);
        if (error == NULL)
            error = find_member(scene, &part, name, depth + 1, member, found);
        if (error != NULL)
            return error;
    }
    return NULL;
}

bool tg_value_has_member(const struct tg_scene *scene, const struct tg_value *value, const char *name)
{
    struct tg_value member;
    bool found = false;
    TG_AUTO_ERROR struct tg_error *error = find_member(scene, value, name, 0, &member, &found);
    return found && error == NULL;
}

static struct tg_error *no_member(const struct tg_value *value, const char *name)
{
    struct tg_type type = tg_type_strip(&value->type);
    Dwarf_Die child;
    char names[400] = "";
    size_t length = 0;
    unsigned n = 0;
    for (int more = dwarf_child(&type.die, &child); more == 0 && n < MAX_TOLD && length < sizeof names - 100;
         more = dwarf_siblingof(&child, &child)) {
        const char *is = dwarf_tag(&child) == DW_TAG_member ? dwarf_diename(&child) : NULL;
        if (is == NULL)
            continue;
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%.60s", n == 0 ? "" : ", ", is);
        n++;
    }
    const char *tag = dwarf_diename(&type.die);
    if (n == 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "no member '%s': the members of '%s' are not known here",
                               name, tag == NULL ? "it" : tag);
    return tg_error_create(TG_ERROR_NOT_FOUND, "no member '%s'; members are %s%s", name, names,
                           n == MAX_TOLD ? " ..." : "");
}

/* Fortran's array%member: an array of that member of each element of WHOLE. */
static struct tg_error *member_of_each(const struct tg_scene *scene, const struct tg_value *whole,
                                       const char *name, struct tg_value *result)
{
    struct tg_value first = *whole, member;
    first.n_dimensions = 0;
    struct tg_error *error = tg_value_member(scene, &first, name, &member);
    if (error != NULL)
        return error;
    if (member.n_dimensions > 0)
        return tg_error_create(TG_ERROR_USAGE, "'%s' is an array itself: give an index before it", name);
    member.n_dimensions = whole->n_dimensions;
    memcpy(member.dimensions, whole->dimensions, sizeof member.dimensions);
    member.is_by_columns = whole->is_by_columns;
    member.array = (struct tg_type){0};
    *result = member;
    return NULL;
}

/* gfortran's class(t) is a pointer to the t, _data, beside one to its type, _vptr. */
bool tg_value_class(const struct tg_scene *scene, const struct tg_value *value, struct tg_value *data,
                    uint64_t *table)
{
    struct tg_type type = tg_type_strip(&value->type);
    const char *name = dwarf_diename(&type.die);
    struct tg_value pointer, vptr;
    struct tg_number address;
    bool found = false;
    if (value->n_dimensions > 0 || tg_type_kind(&type) != TG_TYPE_STRUCT || name == NULL ||
        strncmp(name, "__class_", strlen("__class_")) != 0)
        return false;
    struct tg_error *error = find_member(scene, value, "_data", 0, &pointer, &found);
    bool fits =
        error == NULL && found && pointer.n_dimensions == 0 && tg_type_kind(&pointer.type) == TG_TYPE_POINTER;
    found = false;
    if (fits)
        error = find_member(scene, value, "_vptr", 0, &vptr, &found);
    fits = fits && error == NULL && found;
    if (fits)
        error = tg_value_number(scene, &vptr, &address);
    if (fits && error == NULL)
        error = tg_value_dereference(scene, &pointer, data);
    fits = fits && error == NULL && data->n_dimensions == 0 && tg_type_kind(&data->type) == TG_TYPE_STRUCT;
    tg_error_destroy(error);
    *table = fits ? address.low : 0;
    return fits;
}

struct tg_error *tg_value_member(const struct tg_scene *scene, const struct tg_value *value, const char *name,
                                 struct tg_value *result)
{
    struct tg_value whole = *value, member;
    bool found = false;
    struct tg_error *error = tg_value_follow(scene, &whole);
    /* Fortran's % is for what a pointer is associated with, too */
    if (error == NULL && whole.n_dimensions == 0 && tg_type_kind(&whole.type) == TG_TYPE_POINTER &&
        tg_type_is_fortran(&whole.type))
        error = tg_value_dereference(scene, &whole, &whole);
    if (error != NULL)
        return error;
    enum tg_type_kind kind = tg_type_kind(&whole.type);
    if (whole.n_dimensions > 0 && kind == TG_TYPE_STRUCT && tg_type_is_fortran(&whole.type))
        return member_of_each(scene, &whole, name, result);
    if (whole.n_dimensions > 0 || (kind != TG_TYPE_STRUCT && kind != TG_TYPE_UNION))
        return tg_error_create(TG_ERROR_USAGE, kind == TG_TYPE_POINTER && whole.n_dimensions == 0
                                                   ? "this is a pointer: use '->' for its members"
                                                   : "not a struct: it has no members");
    error = find_member(scene, &whole, name, 0, &member, &found);
    struct tg_value held;
    uint64_t table;
    bool is_class = error == NULL && !found && tg_type_is_fortran(&whole.type) &&
                    tg_value_class(scene, &whole, &held, &table);
    if (is_class)
        error = find_member(scene, &held, name, 0, &member, &found);
    if (error == NULL && !found)
        error = no_member(is_class ? &held : &whole, name);
    if (error == NULL)
        *result = member;
    return error;
}

/* Takes dimension AT out of VALUE, and moves it by BYTES. */
static struct tg_error *take_dimension(const struct tg_scene *scene, const struct tg_value *value,
                                       unsigned at, uint64_t bytes, struct tg_value *result)
{
    struct tg_value element = *value;
    move(&element, bytes);
    for (unsigned i = at; i + 1 < element.n_dimensions; i++)
        element.dimensions[i] = element.dimensions[i + 1];
    element.n_dimensions--;
    struct tg_error *error = NULL;
    if (element.n_dimensions == 0)
        error = settle_part(scene, &element, &element.type);
    else
        element.array = (struct tg_type){0};
    if (error == NULL)
        *result = element;
    return error;
}

/* The number of the first dimension that is no slice, from the front or, COLUMNS, from the back. */
static bool free_dimension(const struct tg_value *value, bool columns, unsigned *at)
{
    for (unsigned i = 0; i < value->n_dimensions; i++) {
        unsigned k = columns ? value->n_dimensions - 1 - i : i;
        if (!value->dimensions[k].is_slice) {
            *at = k;
            return true;
        }
    }
    return false;
}

static struct tg_error *too_many_indexes(const struct tg_value *value)
{
    return tg_error_create(TG_ERROR_USAGE,
                           value->n_dimensions == 0 ? "not an array" : "too many indexes: no dimension left");
}

static struct tg_error *index_dimension(const struct tg_scene *scene, const struct tg_value *value,
                                        int64_t index, bool columns, struct tg_value *element)
{
    unsigned at;
    int64_t bytes, from;
    if (!free_dimension(value, columns, &at))
        return too_many_indexes(value);
    const struct tg_dimension *dimension = &value->dimensions[at];
    if (__builtin_sub_overflow(index, dimension->lower, &from) ||
        __builtin_mul_overflow(from, dimension->stride_bytes, &bytes))
        return tg_error_create(TG_ERROR_LIMIT, "index %" PRId64 " is beyond memory", index);
    return take_dimension(scene, value, at, (uint64_t)bytes, element);
}

static struct tg_error *follow_implicit(const struct tg_scene *scene, const struct tg_value *value,
                                        const struct tg_type *target, struct tg_value *result)
{
    const struct tg_location_piece *piece = &value->location.pieces[0];
    Dwarf_Die die = piece->is.pointer.target;
    struct tg_value variable;
    struct tg_error *error = tg_value_of_variable(scene, value->type.object, &die, &variable);
    if (error != NULL)
        return error;
    if (piece->is.pointer.offset_bytes < 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "optimized out");
    variable.offset_bytes += (uint64_t)piece->is.pointer.offset_bytes;
    error = tg_value_set_type(scene, &variable, target);
    if (error == NULL)
        *result = variable;
    return error;
}

struct tg_error *tg_value_dereference(const struct tg_scene *scene, const struct tg_value *value,
                                      struct tg_value *target)
{
    struct tg_value from = *value;
    struct tg_type type;
    uint64_t address;
    struct tg_error *error = tg_value_follow(scene, &from);
    if (error != NULL)
        return error;
    if (from.n_dimensions > 0)
        return tg_value_element(scene, &from, 0, target);
    enum tg_type_kind kind = tg_type_kind(&from.type);
    if (kind == TG_TYPE_FUNCTION) {
        *target = from;
        return NULL;
    }
    if (kind != TG_TYPE_POINTER || !tg_type_target(&from.type, &type))
        return tg_error_create(TG_ERROR_USAGE, "not a pointer");
    if (tg_type_kind(&type) == TG_TYPE_VOID)
        return tg_error_create(TG_ERROR_USAGE, "a pointer to void: cast it, as in *(int *)p");
    if (from.location.n_pieces == 1 && from.location.pieces[0].kind == TG_LOCATION_POINTER)
        return follow_implicit(scene, &from, &type, target);
    error = tg_value_read(scene, &from, 0, sizeof address, &address);
    return error != NULL ? error : tg_value_at(scene, address, &type, target);
}

/* A pointer as an array without end, from where it points to. */
static struct tg_error *pointer_array(const struct tg_scene *scene, const struct tg_value *value,
                                      struct tg_value *array)
{
    struct tg_value first;
    uint64_t size;
    struct tg_error *error = tg_value_dereference(scene, value, &first);
    if (error != NULL)
        return error;
    if (!tg_value_size(&first, &size) || first.n_dimensions == TG_VALUE_MAX_DIMENSIONS)
        return tg_error_create(TG_ERROR_USAGE, "the size of what it points to is not known");
    memmove(&first.dimensions[1], &first.dimensions[0], first.n_dimensions * sizeof first.dimensions[0]);
    first.dimensions[0] = (struct tg_dimension){.stride_bytes = (int64_t)size};
    first.n_dimensions++;
    first.array = (struct tg_type){0};
    *array = first;
    return NULL;
}

/* VALUE, or what a reference refers to, as an array. */
static struct tg_error *as_array(const struct tg_scene *scene, const struct tg_value *value,
                                 struct tg_value *array)
{
    struct tg_value whole = *value;
    struct tg_error *error = tg_value_follow(scene, &whole);
    if (error != NULL)
        return error;
    if (whole.n_dimensions == 0 && tg_type_kind(&whole.type) == TG_TYPE_POINTER)
        return pointer_array(scene, &whole, array);
    *array = whole;
    return NULL;
}

struct tg_error *tg_value_index(const struct tg_scene *scene, const struct tg_value *value, int64_t index,
                                struct tg_value *element)
{
    struct tg_value array;
    struct tg_error *error = as_array(scene, value, &array);
    return error != NULL ? error : index_dimension(scene, &array, index, false, element);
}

struct tg_error *tg_value_column(const struct tg_scene *scene, const struct tg_value *value, int64_t index,
                                 struct tg_value *element)
{
    struct tg_value array;
    struct tg_error *error = as_array(scene, value, &array);
    return error != NULL ? error : index_dimension(scene, &array, index, true, element);
}

struct tg_error *tg_value_element(const struct tg_scene *scene, const struct tg_value *value, uint64_t i,
                                  struct tg_value *element)
{
    if (value->n_dimensions == 0)
        return too_many_indexes(value);
    return take_dimension(scene, value, 0, i * (uint64_t)value->dimensions[0].stride_bytes, element);
}

struct tg_error *tg_value_slice(const struct tg_scene *scene, const struct tg_value *value,
                                const int64_t *first, const int64_t *last, bool columns,
                                struct tg_value *result)
{
    struct tg_value slice;
    unsigned at;
    struct tg_error *error = as_array(scene, value, &slice);
    if (error != NULL)
        return error;
    if (!free_dimension(&slice, columns, &at))
        return too_many_indexes(&slice);
    struct tg_dimension *dimension = &slice.dimensions[at];
    if (last == NULL && !dimension->has_count)
        return tg_error_create(TG_ERROR_USAGE, "the array has no known end: give the last index");
    int64_t end = dimension->lower + (int64_t)dimension->count - 1;
    int64_t from = first == NULL ? dimension->lower : *first, to = last == NULL ? end : *last, count, bytes;
    if (dimension->has_count && (from < dimension->lower || to > end))
        return tg_error_create(TG_ERROR_USAGE,
                               "%" PRId64 ":%" PRId64 " is outside its bounds %" PRId64 ":%" PRId64, from, to,
                               dimension->lower, end);
    if (__builtin_sub_overflow(to, from, &count) || count < -1 || count == INT64_MAX)
        return tg_error_create(TG_ERROR_USAGE, "%" PRId64 ":%" PRId64 " is not an ascending range", from, to);
    if (__builtin_sub_overflow(from, dimension->lower, &bytes) ||
        __builtin_mul_overflow(bytes, dimension->stride_bytes, &bytes))
        return tg_error_create(TG_ERROR_LIMIT, "index %" PRId64 " is beyond memory", from);
    *dimension = (struct tg_dimension){.lower = from,
                                       .count = (uint64_t)count + 1,
                                       .stride_bytes = dimension->stride_bytes,
                                       .has_count = true,
                                       .is_slice = true};
    slice.array = (struct tg_type){0};
    move(&slice, (uint64_t)bytes);
    *result = slice;
    return NULL;
}

struct tg_error *tg_value_repeat(const struct tg_scene *scene, const struct tg_value *value, uint64_t count,
                                 struct tg_value *result)
{
    struct tg_value array = *value;
    uint64_t size, address;
    struct tg_error *error = tg_value_follow(scene, &array);
    if (error != NULL)
        return error;
    if (!tg_value_address(&array, &address))
        return tg_error_create(TG_ERROR_USAGE, "'@' needs a value in memory");
    if (!tg_value_size(&array, &size) || array.n_dimensions == TG_VALUE_MAX_DIMENSIONS || count > INT64_MAX)
        return tg_error_create(TG_ERROR_USAGE, "its size is not known");
    memmove(&array.dimensions[1], &array.dimensions[0], array.n_dimensions * sizeof array.dimensions[0]);
    array.dimensions[0] = (struct tg_dimension){
        .count = count, .stride_bytes = (int64_t)size, .has_count = true, .is_slice = true};
    array.n_dimensions++;
    array.array = (struct tg_type){0};
    *result = array;
    return NULL;
}
