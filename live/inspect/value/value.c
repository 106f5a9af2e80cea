#include "live/inspect/value/value.h"

#include "live/inspect/value/entry_arguments.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct tg_error *not_readable(const char *what)
{
    return tg_error_create(TG_ERROR_INPUT, "invalid debug information for %s", what);
}

struct tg_type tg_value_complete_type(const struct tg_scene *scene, const struct tg_type *type)
{
    struct tg_type stripped = tg_type_strip(type);
    if (stripped.pointers > 0 || stripped.die.addr == NULL ||
        !dwarf_hasattr(&stripped.die, DW_AT_declaration))
        return *type;
    const char *name = dwarf_diename(&stripped.die);
    struct tg_found found;
    if (name == NULL || !tg_lookup_definition(scene, name, &found))
        return *type;
    return tg_type_of_die(found.object, &found.die);
}

/* One bound or stride of a dimension. *KNOWN: it is there. */
static struct tg_error *read_bound(const struct tg_scene *scene, const struct tg_type *type, Dwarf_Die *die,
                                   unsigned name, const uint64_t *self, int64_t *number, bool *known)
{
    Dwarf_Attribute attribute;
    *known = dwarf_attr(die, name, &attribute) != NULL;
    return *known ? tg_location_number(scene, type->object, &attribute, self, number) : NULL;
}

static struct tg_error *read_dimension(const struct tg_scene *scene, const struct tg_type *type,
                                       Dwarf_Die *range, const uint64_t *self, struct tg_dimension *dimension)
{
    int64_t lower = 0, upper = 0, count = 0, stride = 0;
    bool has_lower, has_upper = false, has_count, has_stride;
    struct tg_error *error = read_bound(scene, type, range, DW_AT_lower_bound, self, &lower, &has_lower);
    if (!has_lower)
        lower = tg_type_is_fortran(type);
    if (error == NULL)
        error = read_bound(scene, type, range, DW_AT_count, self, &count, &has_count);
    if (error == NULL && !has_count)
        error = read_bound(scene, type, range, DW_AT_upper_bound, self, &upper, &has_upper);
    if (error == NULL)
        error = read_bound(scene, type, range, DW_AT_byte_stride, self, &stride, &has_stride);
    if (error != NULL && tg_error_code(error) != TG_ERROR_NOT_FOUND)
        return tg_error_prefix(error, "a bound of the array");
    if (error != NULL) { /* optimized out: an array without end */
        tg_error_destroy(error);
        has_count = has_upper = has_stride = false;
    }
    dimension->lower = lower;
    dimension->has_count = has_count || has_upper;
    dimension->count = has_count                     ? (uint64_t)(count < 0 ? 0 : count)
                       : upper < lower || !has_upper ? 0
                                                     : (uint64_t)upper - (uint64_t)lower + 1;
    dimension->stride_bytes = has_stride ? stride : 0;
    return NULL;
}

/* Finds the elements of an allocatable array (DW_AT_data_location), which may not be allocated. */
static struct tg_error *move_to_data(const struct tg_scene *scene, const struct tg_type *type,
                                     struct tg_value *value, const uint64_t *self)
{
    Dwarf_Die die = type->die;
    Dwarf_Attribute attribute;
    static const unsigned states[] = {DW_AT_allocated, DW_AT_associated};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        int64_t is = 1;
        struct tg_error *error = dwarf_attr(&die, states[i], &attribute) == NULL
                                     ? NULL
                                     : tg_location_number(scene, type->object, &attribute, self, &is);
        if (error == NULL && is == 0)
            error = tg_error_create(TG_ERROR_NOT_FOUND,
                                    states[i] == DW_AT_allocated ? "not allocated" : "not associated");
        if (error != NULL)
            return error;
    }
    if (dwarf_attr(&die, DW_AT_data_location, &attribute) == NULL)
        return NULL;
    struct tg_location location;
    struct tg_error *error = tg_location_evaluate(scene, type->object, &attribute, self, &location);
    if (error == NULL) {
        value->location = location;
        value->offset_bytes = 0;
    }
    return error;
}

/* Strides of elements that lie one behind the other, where none are said. */
static struct tg_error *fill_strides(struct tg_value *value)
{
    uint64_t size;
    if (!tg_type_size(&value->type, &size))
        return not_readable("an array");
    int64_t stride = (int64_t)size;
    for (unsigned i = value->n_dimensions; i-- > 0;) {
        struct tg_dimension *dimension = &value->dimensions[i];
        if (dimension->stride_bytes == 0)
            dimension->stride_bytes = stride;
        if (__builtin_mul_overflow(dimension->stride_bytes, (int64_t)dimension->count, &stride) ||
            (int64_t)dimension->count < 0)
            return tg_error_create(TG_ERROR_LIMIT, "an array larger than memory");
    }
    return NULL;
}

/* VALUE, whose type has been set, is an array: reads its dimensions. */
static struct tg_error *expand_array(const struct tg_scene *scene, struct tg_value *value)
{
    struct tg_type type = tg_type_strip(&value->type);
    uint64_t address;
    const uint64_t *self = tg_value_address(value, &address) ? &address : NULL;
    struct tg_error *error = move_to_data(scene, &type, value, self);
    Dwarf_Die child;
    value->array = value->type;
    value->is_by_columns = tg_type_is_fortran(&type);
    if (error == NULL && !tg_type_target(&type, &value->type))
        error = not_readable("an array");
    unsigned n = 0;
    for (int more = error == NULL ? dwarf_child(&type.die, &child) : 1; error == NULL && more == 0;
         more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        if (tag != DW_TAG_subrange_type && tag != DW_TAG_enumeration_type)
            continue;
        if (n == TG_VALUE_MAX_DIMENSIONS)
            return tg_error_create(TG_ERROR_LIMIT, "an array of more than %d dimensions",
                                   TG_VALUE_MAX_DIMENSIONS);
        value->dimensions[n] = (struct tg_dimension){0};
        error = read_dimension(scene, &type, &child, self, &value->dimensions[n]);
        n++;
    }
    if (error != NULL)
        return error;
    if (n == 0) {
        value->dimensions[0] = (struct tg_dimension){0};
        n = 1;
    }
    value->n_dimensions = n;
    for (unsigned i = 0; value->is_by_columns && i < n / 2; i++) { /* the slowest first */
        struct tg_dimension swap = value->dimensions[i];
        value->dimensions[i] = value->dimensions[n - 1 - i];
        value->dimensions[n - 1 - i] = swap;
    }
    value->type = tg_value_complete_type(scene, &value->type);
    return fill_strides(value);
}

struct tg_error *tg_value_set_type(const struct tg_scene *scene, struct tg_value *value,
                                   const struct tg_type *type)
{
    value->type = *type;
    value->n_dimensions = 0;
    enum tg_type_kind kind = tg_type_kind(&value->type);
    if (kind == TG_TYPE_ARRAY)
        return expand_array(scene, value);
    if (kind == TG_TYPE_STRUCT || kind == TG_TYPE_UNION)
        value->type = tg_value_complete_type(scene, &value->type);
    return NULL;
}

struct tg_error *tg_value_at(const struct tg_scene *scene, uint64_t address, const struct tg_type *type,
                             struct tg_value *value)
{
    struct tg_value at = {.location = tg_location_memory(address)};
    struct tg_error *error = tg_value_set_type(scene, &at, type);
    if (error == NULL)
        *value = at;
    return error;
}

struct tg_value tg_value_computed(const struct tg_type *type, const void *bytes, size_t size)
{
    struct tg_value value = {.type = *type, .location = {.n_pieces = 1}};
    value.location.pieces[0].kind = TG_LOCATION_VALUE;
    memcpy(value.location.pieces[0].is.value, bytes,
           size < TG_LOCATION_VALUE_SIZE ? size : TG_LOCATION_VALUE_SIZE);
    return value;
}

struct tg_value tg_value_pointer(const struct tg_type *target, uint64_t address)
{
    struct tg_type type = tg_type_pointer_to(target);
    return tg_value_computed(&type, &address, sizeof address);
}

bool tg_value_address(const struct tg_value *value, uint64_t *address)
{
    return value->bit_size == 0 && tg_location_address(&value->location, value->offset_bytes, address);
}

struct tg_error *tg_value_set_constant(Dwarf_Attribute *attribute, struct tg_value *value)
{
    int64_t number;
    Dwarf_Block block;
    struct tg_location_piece *piece = &value->location.pieces[0];
    value->location.n_pieces = 1;
    *piece = (struct tg_location_piece){.kind = TG_LOCATION_VALUE};
    if (dwarf_formblock(attribute, &block) == 0) {
        piece->kind = TG_LOCATION_CONSTANT;
        piece->is.constant.bytes = block.data;
        piece->is.constant.size_bytes = block.length;
    } else if (tg_type_constant(attribute, &number)) {
        int64_t sign = number < 0 ? -1 : 0;
        memcpy(piece->is.value, &number, 8);
        memcpy(piece->is.value + 8, &sign, 8);
    } else {
        const char *text = dwarf_formstring(attribute);
        if (text == NULL)
            return not_readable("a constant");
        piece->kind = TG_LOCATION_CONSTANT;
        piece->is.constant.bytes = (const uint8_t *)text;
        piece->is.constant.size_bytes = strlen(text) + 1;
    }
    return NULL;
}

static struct tg_error *function_value(const struct tg_scene_object *object, Dwarf_Die *die,
                                       struct tg_value *value)
{
    Dwarf_Addr entry;
    if (dwarf_entrypc(die, &entry) != 0)
        return tg_error_create(TG_ERROR_NOT_FOUND, "the function has no code of its own");
    *value = (struct tg_value){.type = tg_type_of_die(object, die),
                               .location = tg_location_memory(entry + object->bias)};
    return NULL;
}

struct tg_error *tg_value_of_variable(const struct tg_scene *scene, const struct tg_scene_object *object,
                                      Dwarf_Die *die, struct tg_value *value)
{
    int tag = dwarf_tag(die);
    struct tg_value found = {.location = {.n_pieces = 1, .pieces = {{.kind = TG_LOCATION_OPTIMIZED}}}};
    struct tg_error *error = NULL;
    struct tg_type type;
    Dwarf_Attribute attribute;
    if (tag == DW_TAG_subprogram)
        return function_value(object, die, value);
    if (!tg_type_of(object, die, &type))
        return not_readable("a variable's type");
    if (tg_entry_argument(scene, object, die, &found.location, &error))
        ; /* not where its own location says */
    else if (dwarf_attr_integrate(die, DW_AT_location, &attribute) != NULL)
        error = tg_location_evaluate(scene, object, &attribute, NULL, &found.location);
    else if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute) != NULL)
        error = tg_value_set_constant(&attribute, &found);
    if (error == NULL)
        error = tg_value_set_type(scene, &found, &type);
    if (error == NULL)
        *value = found;
    return error;
}

bool tg_value_size(const struct tg_value *value, uint64_t *size_bytes)
{
    uint64_t size, total;
    if (!tg_type_size(&value->type, &size))
        return false;
    total = size;
    for (unsigned i = 0; i < value->n_dimensions; i++) {
        if (!value->dimensions[i].has_count ||
            __builtin_mul_overflow(total, value->dimensions[i].count, &total))
            return false;
    }
    *size_bytes = total;
    return true;
}

struct tg_error *tg_value_read(const struct tg_scene *scene, const struct tg_value *value, uint64_t offset,
                               size_t size, void *buffer)
{
    uint64_t address;
    if (tg_value_address(value, &address))
        return tg_scene_read(scene, address + offset, buffer, size);
    if (value->offset_bytes > UINT32_MAX || offset > UINT32_MAX)
        return tg_error_create(TG_ERROR_LIMIT, "an offset too large outside memory");
    return tg_location_read_bits(scene, &value->location, (value->offset_bytes + offset) * 8, size * 8,
                                 buffer);
}

struct tg_error *tg_value_follow(const struct tg_scene *scene, struct tg_value *value)
{
    if (tg_type_kind(&value->type) != TG_TYPE_REFERENCE || value->n_dimensions > 0)
        return NULL;
    uint64_t address;
    struct tg_type target;
    struct tg_error *error = tg_value_read(scene, value, 0, sizeof address, &address);
    if (error != NULL)
        return error;
    if (!tg_type_target(&value->type, &target))
        return not_readable("a reference");
    return tg_value_at(scene, address, &target, value);
}
