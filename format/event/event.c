#include "format/event/event.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A name a value of each enum. */
#define VALUE_NAME(tag, constant)     VALUE_NAME_OF constant
#define VALUE_NAME_OF(constant, name) name,
#define TG_ENUM(tag, ...)                                                                                    \
    static const char *const tag##_names[] = {TG_EACH(VALUE_NAME, tag, __VA_ARGS__) NULL};
#include "format/event/events.def"

/* The fields of each list element and payload. */
#define FIELD(record, field)             FIELD_OF(record, FIELD_PARTS field)
#define FIELD_PARTS(...)                 __VA_ARGS__
#define FIELD_OF(record, ...)            FIELD_OF_TYPE(record, __VA_ARGS__)
#define FIELD_OF_TYPE(record, type, ...) FIELD_##type(record, __VA_ARGS__)
#define FIELD_unsigned(record, member)                                                                       \
    {#member, sizeof #member - 1, TG_FIELD_UNSIGNED, offsetof(struct record, member), NULL, NULL, 0},
#define FIELD_signed(record, member)                                                                         \
    {#member, sizeof #member - 1, TG_FIELD_SIGNED, offsetof(struct record, member), NULL, NULL, 0},
#define FIELD_address(record, member)                                                                        \
    {#member, sizeof #member - 1, TG_FIELD_ADDRESS, offsetof(struct record, member), NULL, NULL, 0},
#define FIELD_flag(record, member)                                                                           \
    {#member, sizeof #member - 1, TG_FIELD_BOOL, offsetof(struct record, member), NULL, NULL, 0},
#define FIELD_string(record, member)                                                                         \
    {#member, sizeof #member - 1, TG_FIELD_STRING, offsetof(struct record, member), NULL, NULL, 0},
#define FIELD_named(record, member, name)                                                                    \
    {name, sizeof name - 1, TG_FIELD_UNSIGNED, offsetof(struct record, member), NULL, NULL, 0},
#define FIELD_enum(record, member, tag)                                                                      \
    {#member, sizeof #member - 1, TG_FIELD_ENUM,         offsetof(struct record, member),                    \
     NULL,    tag##_names,        COUNT(tag##_names) - 1},
#define FIELD_list(record, member, item)                                                                     \
    {#member, sizeof #member - 1, TG_FIELD_LIST, offsetof(struct record, member), &item##_schema, NULL, 0},

#define TG_ITEM(tag, name, ...)                                                                              \
    static const struct tg_field tag##_fields[] = {TG_EACH(FIELD, tag, __VA_ARGS__)};                        \
    static const struct tg_record_schema tag##_schema = {name, sizeof(struct tag), COUNT(tag##_fields),      \
                                                         tag##_fields};
#define TG_EVENT(symbol, number, name, ...)                                                                  \
    static const struct tg_field name##_fields[] = {TG_EACH(FIELD, tg_event_##name, __VA_ARGS__)};           \
    _Static_assert(COUNT(name##_fields) <= TG_EVENT_MAX_FIELDS, "too many fields: " #name);
#include "format/event/events.def"

static const struct kind {
    unsigned number;
    struct tg_record_schema schema;
} kinds[] = {
#define TG_EVENT(symbol, number, name, ...)                                                                  \
    {number, {#name, sizeof(struct tg_event_##name), COUNT(name##_fields), name##_fields}},
#include "format/event/events.def"
};

enum place {
#define TG_EVENT(symbol, number, name, ...) PLACE_##symbol,
#include "format/event/events.def"
};

const uint8_t tg_event_kind_places[TG_EVENT_KIND_NUMBERS] = {
#define TG_EVENT(symbol, number, name, ...) [number] = 1 + PLACE_##symbol,
#include "format/event/events.def"
};
_Static_assert(COUNT(kinds) < UINT8_MAX, "a place is a byte");

static const struct kind *find_kind(unsigned number)
{
    size_t place = tg_event_kind_place(number);
    return place != SIZE_MAX ? &kinds[place] : NULL;
}

const struct tg_record_schema *tg_event_schema(unsigned kind)
{
    const struct kind *found = find_kind(kind);
    return found == NULL ? NULL : &found->schema;
}

size_t tg_event_kind_count(void)
{
    return COUNT(kinds);
}

enum tg_event_kind tg_event_kind_at(size_t i)
{
    return (enum tg_event_kind)kinds[i].number;
}

const char *tg_event_kind_name(unsigned kind)
{
    const struct kind *found = find_kind(kind);
    return found == NULL ? "unknown" : found->schema.name;
}

unsigned tg_event_kind_by_name(const char *name)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].schema.name, name) == 0)
            return kinds[i].number;
    return 0;
}

const char *tg_field_value_name(const struct tg_field *field, uint64_t value)
{
    return value < field->n_names ? field->names[value] : NULL;
}

const char *tg_event_value_name(unsigned kind, const char *field, uint64_t value)
{
    const struct tg_record_schema *schema = tg_event_schema(kind);
    for (size_t i = 0; schema != NULL && i < schema->n_fields; i++)
        if (strcmp(schema->fields[i].name, field) == 0)
            return tg_field_value_name(&schema->fields[i], value);
    return NULL;
}
