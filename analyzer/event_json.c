#include "analyzer/event_json.h"

#include <string.h>

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
        tg_event_json_fields(json, element, item);
        tg_json_end_object(json);
    }
    tg_json_end_array(json);
}

void tg_event_json_fields(struct tg_json *json, const struct tg_record_schema *schema, const void *payload)
{
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        tg_json_key(json, field->name);
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
}
