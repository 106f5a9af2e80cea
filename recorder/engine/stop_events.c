#include "recorder/engine/stop_events.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 16 * 1024, ALIGNMENT = 16 };

struct tg_stop_event {
    struct tg_stop_event *next;
    struct tg_event event;
};

struct tg_arena_block {
    struct tg_arena_block *next;
    size_t size;
    size_t used;
    _Alignas(ALIGNMENT) char bytes[];
};

static void *allocate(struct tg_stop_events *events, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct tg_arena_block *block = events->blocks;
    if (block == NULL || block->size - block->used < size) {
        size_t block_size = block == NULL ? FIRST_BLOCK_BYTES : block->size * 2;
        while (block_size < size)
            block_size *= 2;
        block = malloc(sizeof *block + block_size);
        if (block == NULL)
            return NULL;
        block->size = block_size;
        block->used = 0;
        block->next = events->blocks;
        events->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    events->bytes += size;
    return memory;
}

static void *copy_bytes(struct tg_stop_events *events, const void *bytes, size_t size)
{
    void *copy = allocate(events, size);
    if (copy != NULL && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

/* Replaces what RECORD points to by copies; RECORD itself is a copy already. Lists hold no lists. */
static bool copy_pointed_to(struct tg_stop_events *events, const struct tg_record_schema *schema,
                            char *record)
{
    for (size_t i = 0; i < schema->n_fields; i++) {
        const struct tg_field *field = &schema->fields[i];
        if (field->type == TG_FIELD_STRING) {
            const char *text;
            memcpy(&text, record + field->offset, sizeof text);
            text = text == NULL ? "" : copy_bytes(events, text, strlen(text) + 1);
            if (text == NULL)
                return false;
            memcpy(record + field->offset, &text, sizeof text);
        } else if (field->type == TG_FIELD_LIST) {
            struct tg_list list;
            memcpy(&list, record + field->offset, sizeof list);
            size_t item_size = field->element->size_bytes;
            if (list.count > SIZE_MAX / 4 / item_size)
                return false;
            char *items = copy_bytes(events, list.items, (size_t)list.count * item_size);
            if (items == NULL)
                return false;
            for (uint64_t n = 0; n < list.count; n++)
                if (!copy_pointed_to(events, field->element, items + n * item_size))
                    return false;
            list.items = items;
            memcpy(record + field->offset, &list, sizeof list);
        }
    }
    return true;
}

struct tg_event *tg_stop_events_add(struct tg_stop_events *events, const struct tg_event *event)
{
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    struct tg_stop_event *copy = copy_bytes(events, &(struct tg_stop_event){.event = *event}, sizeof *copy);
    if (schema == NULL || copy == NULL || !copy_pointed_to(events, schema, TG_EVENT_PAYLOAD(&copy->event))) {
        events->lost++;
        return NULL;
    }
    if (events->first == NULL)
        events->last = &events->first;
    *events->last = copy;
    events->last = &copy->next;
    return &copy->event;
}

static void free_blocks(struct tg_arena_block *block)
{
    while (block != NULL) {
        struct tg_arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void tg_stop_events_flush(struct tg_stop_events *events, uint64_t stop_ns,
                          void (*add)(void *context, const struct tg_event *event), void *context)
{
    for (struct tg_stop_event *kept = events->first; kept != NULL; kept = kept->next) {
        kept->event.stop_ns = kept == events->first ? stop_ns : 0;
        add(context, &kept->event);
    }
    tg_stop_events_clear(events);
}

const struct tg_event *tg_stop_events_first(const struct tg_stop_events *events)
{
    return events->first == NULL ? NULL : &events->first->event;
}

void tg_stop_events_pop(struct tg_stop_events *events)
{
    events->first = events->first->next;
}

void tg_stop_events_clear(struct tg_stop_events *events)
{
    events->first = NULL;
    events->bytes = 0;
    if (events->blocks != NULL) {
        free_blocks(events->blocks->next);
        events->blocks->next = NULL;
        events->blocks->used = 0;
    }
}

void tg_stop_events_deinit(struct tg_stop_events *events)
{
    free_blocks(events->blocks);
    *events = (struct tg_stop_events){0};
}
