#include "analyzer/dump/event_json.h"

#include <stdio.h>
#include <string.h>

static void write_fields(struct tg_json *json, const struct tg_record_schema *schema, const void *payload);

static uint64_t get_number(const struct tg_field *field, const void *record)
{
    uint64_t number;
    memcpy(&number, (const char *)record + field->offset, sizeof number);
    return number;
}

static const char *get_string(const struct tg_field *field, const void *record)
{
    const char *text;
    memcpy(&text, (const char *)record + field->offset, sizeof text);
    return text;
}

static void write_list(struct tg_json *json, const struct tg_field *field, const void *record)
{
    struct tg_list list;
    memcpy(&list, (const char *)record + field->offset, sizeof list);
    const struct tg_record_schema *element = field->element;
    bool strings = element->n_fields == 1 && element->fields[0].type == TG_FIELD_STRING;
    tg_json_begin_array(json);
    for (uint64_t i = 0; i < list.count; i++) {
        const char *item = (const char *)list.items + i * element->size_bytes;
        if (strings) {
            tg_json_string(json, get_string(&element->fields[0], item));
            continue;
        }
        tg_json_begin_object(json);
        write_fields(json, element, item);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

void tg_event_json_value(struct tg_json *json, const struct tg_field *field, const void *payload)
{
    switch (field->type) {
    case TG_FIELD_UNSIGNED:
        tg_json_unsigned(json, get_number(field, payload));
        break;
    case TG_FIELD_SIGNED:
        tg_json_signed(json, (int64_t)get_number(field, payload));
        break;
    case TG_FIELD_ADDRESS:
        tg_json_address(json, get_number(field, payload));
        break;
    case TG_FIELD_STRING:
        tg_json_string(json, get_string(field, payload));
        break;
    case TG_FIELD_ENUM: {
        const char *name = tg_field_value_name(field, get_number(field, payload));
        if (name != NULL)
            tg_json_string(json, name);
        else
            tg_json_unsigned(json, get_number(field, payload));
        break;
    }
    case TG_FIELD_BOOL:
        tg_json_bool(json, get_number(field, payload) != 0);
        break;
    case TG_FIELD_LIST:
        write_list(json, field, payload);
        break;
    }
}

static void write_field(struct tg_json *json, const struct tg_field *field, const void *payload)
{
    tg_json_key(json, field->name);
    tg_event_json_value(json, field, payload);
}

static void write_fields(struct tg_json *json, const struct tg_record_schema *schema, const void *payload)
{
    for (size_t i = 0; i < schema->n_fields; i++)
        write_field(json, &schema->fields[i], payload);
}

/* The key FIELD_WHAT. Fields' names are short. */
static void write_name_key(struct tg_json *json, const struct tg_field *field, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "%s_%s", field->name, what);
    tg_json_key(json, key);
}

void tg_event_json_name(struct tg_json *json, const struct tg_field *field, const struct tg_code_name *name)
{
    write_name_key(json, field, "object");
    tg_json_string(json, name->object);
    if (name->symbol.function != NULL) {
        write_name_key(json, field, "function");
        tg_json_string(json, name->symbol.function);
        write_name_key(json, field, "offset");
        tg_json_unsigned(json, name->symbol.offset);
    }
    if (name->symbol.file != NULL) {
        write_name_key(json, field, "file");
        tg_json_string(json, name->symbol.file);
        write_name_key(json, field, "line");
        tg_json_unsigned(json, name->symbol.line);
    }
}

static void add_names(struct tg_json *json, const struct tg_event *event, const struct tg_field *field,
                      struct tg_code_names *names)
{
    struct tg_code_name name;
    if (field->type == TG_FIELD_ADDRESS &&
        tg_code_names_find(names, event->pid, field, get_number(field, TG_EVENT_PAYLOAD(event)), &name))
        tg_event_json_name(json, field, &name);
}

void tg_event_json_payload(struct tg_json *json, const struct tg_event *event, struct tg_code_names *names)
{
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    for (size_t i = 0; i < schema->n_fields; i++) {
        write_field(json, &schema->fields[i], TG_EVENT_PAYLOAD(event));
        if (names != NULL)
            add_names(json, event, &schema->fields[i], names);
    }
}
