#include "format/trace/chunk_demand.h"

#include "format/base/byte_buffer.h"
#include "format/trace/section.h"

enum {
    COMMON = 6, /* kind, thread (itself, its pid, its tid), time and stop */
    /* Directory, counts and column lengths: far below this, whatever the kinds. */
    DIRECTORY_BYTES = 64 << 10,
};

static bool demand_text(struct tg_chunk_demand *demand, const char *text)
{
    if (text == NULL)
        return true;
    size_t length = strnlen(text, TG_STRING_MAX_BYTES + 1);
    if (length > TG_STRING_MAX_BYTES)
        return false;
    demand->n_strings++;
    demand->text_bytes += length;
    return demand->text_bytes <= TG_EVENT_MAX_TEXT_BYTES;
}

static bool demand_list(struct tg_chunk_demand *demand, const struct tg_field *field,
                        const struct tg_list *list)
{
    demand->n_items += list->count;
    if (list->count > TG_CHUNK_MAX_LIST_ITEMS || demand->n_items > TG_CHUNK_MAX_LIST_ITEMS)
        return false;
    demand->n_values += list->count * field->element->n_fields;
    for (size_t f = 0; f < field->element->n_fields; f++) {
        const struct tg_field *member = &field->element->fields[f];
        if (member->type != TG_FIELD_STRING)
            continue;
        const char *item = list->items;
        for (uint64_t i = 0; i < list->count; i++, item += field->element->size_bytes)
            if (!demand_text(demand, tg_chunk_text_of(item, member)))
                return false;
    }
    return true;
}

bool tg_chunk_demand_event(struct tg_chunk_demand *demand, const struct tg_record_schema *schema,
                           const void *payload)
{
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        demand->n_values++;
        if (field->type == TG_FIELD_STRING && !demand_text(demand, tg_chunk_text_of(payload, field)))
            return false;
        if (field->type == TG_FIELD_LIST &&
            !demand_list(demand, field, (const struct tg_list *)((const char *)payload + field->offset)))
            return false;
    }
    return true;
}

uint64_t tg_chunk_demand_bytes(const struct tg_chunk_demand *demand)
{
    return (COMMON + demand->n_values) * TG_VARINT_MAX_BYTES + demand->text_bytes + demand->n_strings +
           DIRECTORY_BYTES;
}
