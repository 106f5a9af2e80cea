#include "live/inspect/value/text.h"

#include "live/inspect/value/container.h"

#include <dwarf.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TOTAL = 20000,
    MAX_DEPTH = 8, /* the writer has 32 levels; a struct takes three */
    MAX_MEMBERS = 65536,
};

struct writer {
    const struct tg_scene *scene;
    const struct tg_value_style *style;
    struct tg_json *json;
    unsigned total;
};

static void write_value(struct writer *writer, const struct tg_value *value, unsigned depth);

/* Text that PRINT writes of VALUE or its type, as a member. */
static void write_text(struct writer *writer, const char *key, const struct tg_value *value, bool type_only)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return;
    struct tg_error *error = NULL;
    if (type_only)
        tg_type_print(value->n_dimensions > 0 && value->array.die.addr != NULL ? &value->array : &value->type,
                      stream);
    else
        error = tg_value_print(writer->scene, value, writer->style, stream);
    tg_error_destroy(error);
    if (fclose(stream) == 0)
        tg_json_member_string(writer->json, key, text);
    free(text);
}

static void write_error(struct writer *writer, struct tg_error *error)
{
    tg_json_member_string(writer->json, "error", tg_error_message(error));
    tg_error_destroy(error);
}

/* Numbers beyond 2^53 would not come out exact everywhere: they are strings. */
static void write_number(struct writer *writer, const struct tg_value *value, const struct tg_number *number)
{
    enum { EXACT_BITS = 53 };
    enum tg_type_kind kind = tg_type_kind(&value->type);
    tg_json_key(writer->json, "value");
    if (kind == TG_TYPE_BOOL)
        tg_json_bool(writer->json, (number->low | number->high) != 0);
    else if (number->is_real && isfinite((double)number->real) && fabsl(number->real) < 1e15L &&
             (long double)(int64_t)number->real == number->real)
        tg_json_signed(writer->json, (int64_t)number->real);
    else if (!number->is_real && number->is_unsigned && number->high == 0 && number->low >> EXACT_BITS == 0)
        tg_json_unsigned(writer->json, number->low);
    else if (!number->is_real && !number->is_unsigned && llabs((int64_t)number->low) >> EXACT_BITS == 0 &&
             number->high == ((int64_t)number->low < 0 ? UINT64_MAX : 0))
        tg_json_signed(writer->json, (int64_t)number->low);
    else
        tg_json_null(writer->json); /* in its text */
}

static void write_scalar(struct writer *writer, const struct tg_value *value)
{
    struct tg_number number;
    struct tg_error *error = tg_value_number(writer->scene, value, &number);
    if (error != NULL) {
        write_error(writer, error);
        return;
    }
    if (tg_type_kind(&value->type) == TG_TYPE_POINTER) {
        tg_json_key(writer->json, "address");
        tg_json_address(writer->json, number.low);
    } else {
        write_number(writer, value, &number);
    }
    write_text(writer, "text", value, false);
}

static void write_members(struct writer *writer, const struct tg_value *value, unsigned depth)
{
    struct tg_type type = tg_type_strip(&value->type);
    Dwarf_Die child;
    unsigned seen = 0;
    tg_json_key(writer->json, "members");
    tg_json_begin_array(writer->json);
    for (int more = depth < MAX_DEPTH ? dwarf_child(&type.die, &child) : 1; more == 0 && ++seen < MAX_MEMBERS;
         more = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        bool is_static = dwarf_hasattr(&child, DW_AT_external) || dwarf_hasattr(&child, DW_AT_declaration);
        const char *name = dwarf_diename(&child);
        struct tg_value member;
        if (tag != DW_TAG_inheritance && (tag != DW_TAG_member || is_static))
            continue;
        if (++writer->total > MAX_TOTAL)
            break;
        tg_json_begin_object(writer->json);
        if (name != NULL)
            tg_json_member_string(writer->json, "name", name);
        struct tg_error *error = tg_value_member_at(writer->scene, value, &child, &member);
        if (error != NULL)
            write_error(writer, error);
        else
            write_value(writer, &member, depth + 1);
        tg_json_end_object(writer->json);
    }
    tg_json_end_array(writer->json);
}

static void write_elements(struct writer *writer, const struct tg_value *array, unsigned depth)
{
    const struct tg_dimension *dimension = &array->dimensions[0];
    uint32_t max = writer->style->max_elements == 0 ? MAX_TOTAL : writer->style->max_elements;
    uint64_t count = dimension->has_count ? dimension->count : 0, shown = 0;
    tg_json_member_signed(writer->json, "lower", dimension->lower);
    tg_json_member_unsigned(writer->json, "count", count);
    tg_json_key(writer->json, "elements");
    tg_json_begin_array(writer->json);
    for (; depth < MAX_DEPTH && shown < count && shown < max && ++writer->total <= MAX_TOTAL; shown++) {
        struct tg_value element;
        tg_json_begin_object(writer->json);
        struct tg_error *error = tg_value_element(writer->scene, array, shown, &element);
        if (error != NULL)
            write_error(writer, error);
        else
            write_value(writer, &element, depth + 1);
        tg_json_end_object(writer->json);
    }
    tg_json_end_array(writer->json);
    if (shown < count)
        tg_json_member_bool(writer->json, "truncated", true);
}

/* A member KEY that is VALUE, or the error that it could not be found by. */
static void write_part(struct writer *writer, const char *key, const struct tg_value *value,
                       struct tg_error *error, unsigned depth)
{
    tg_json_key(writer->json, key);
    tg_json_begin_object(writer->json);
    if (error != NULL)
        write_error(writer, error);
    else
        write_value(writer, value, depth + 1);
    tg_json_end_object(writer->json);
}

static void write_pair(struct writer *writer, const struct tg_value *pair, unsigned depth)
{
    struct tg_value part;
    struct tg_error *error = tg_value_member(writer->scene, pair, "first", &part);
    write_part(writer, "key", &part, error, depth);
    error = tg_value_member(writer->scene, pair, "second", &part);
    write_part(writer, "value", &part, error, depth);
}

static void write_items(struct writer *writer, struct tg_container *container, unsigned depth)
{
    uint32_t max = writer->style->max_elements == 0 ? MAX_TOTAL : writer->style->max_elements;
    bool done = false, truncated = depth >= MAX_DEPTH;
    struct tg_error *error = NULL;
    if (container->has_count)
        tg_json_member_unsigned(writer->json, "count", container->count);
    tg_json_key(writer->json, "elements");
    tg_json_begin_array(writer->json);
    for (uint32_t told = 0; !truncated; told++) {
        struct tg_value item;
        error = tg_container_next(writer->scene, container, &item, &done);
        if (error != NULL || done)
            break;
        truncated = told == max || ++writer->total > MAX_TOTAL;
        if (truncated)
            break;
        tg_json_begin_object(writer->json);
        if (container->kind == TG_CONTAINER_MAP)
            write_pair(writer, &item, depth + 1);
        else
            write_value(writer, &item, depth + 1);
        tg_json_end_object(writer->json);
    }
    tg_json_end_array(writer->json);
    if (truncated)
        tg_json_member_bool(writer->json, "truncated", true);
    if (error != NULL)
        write_error(writer, error);
}

/* False: VALUE is none. */
static bool write_container(struct writer *writer, const struct tg_value *value, unsigned depth)
{
    struct tg_container container;
    struct tg_error *error = NULL;
    if (writer->style->is_raw || !tg_container_open(writer->scene, value, &container, &error))
        return false;
    tg_json_member_string(writer->json, "container", container.name);
    if (error != NULL) {
        write_error(writer, error);
    } else if (container.kind == TG_CONTAINER_TEXT) {
        tg_json_member_unsigned(writer->json, "count", container.count);
        write_text(writer, "text", value, false);
    } else if (container.kind == TG_CONTAINER_ARRAY) {
        write_elements(writer, &container.array, depth);
    } else if (container.kind == TG_CONTAINER_POINTER) {
        write_part(writer, "pointer", &container.content, NULL, depth);
    } else if (container.kind == TG_CONTAINER_ONE) {
        tg_json_member_unsigned(writer->json, "count", container.count);
        if (container.count == 1)
            write_part(writer, "content", &container.content, NULL, depth);
    } else {
        write_items(writer, &container, depth);
    }
    return true;
}

/* The members of one object. */
static void write_value(struct writer *writer, const struct tg_value *original, unsigned depth)
{
    struct tg_value value = *original;
    write_text(writer, "type", &value, true);
    struct tg_error *error = tg_value_follow(writer->scene, &value);
    if (error != NULL) {
        write_error(writer, error);
        return;
    }
    enum tg_type_kind kind = tg_type_kind(&value.type);
    bool is_text = value.n_dimensions == 1 && (kind == TG_TYPE_CHAR || kind == TG_TYPE_UNSIGNED_CHAR);
    if (value.n_dimensions > 0 && !is_text)
        write_elements(writer, &value, depth);
    else if (value.n_dimensions == 0 && kind == TG_TYPE_STRUCT && write_container(writer, &value, depth))
        return;
    else if (kind == TG_TYPE_STRUCT || kind == TG_TYPE_UNION)
        write_members(writer, &value, depth);
    else if (value.n_dimensions == 0 && tg_type_is_scalar(kind))
        write_scalar(writer, &value);
    else
        write_text(writer, "text", &value, false);
}

void tg_value_write_json(const struct tg_scene *scene, const struct tg_value *value,
                         const struct tg_value_style *style, struct tg_json *json)
{
    struct writer writer = {.scene = scene, .style = style, .json = json};
    tg_json_begin_object(json);
    write_value(&writer, value, 0);
    tg_json_end_object(json);
}
