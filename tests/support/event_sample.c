#include "tests/support/event_sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITEMS = 5, MAX_TEXTS = 64, MAX_TEXT = 48, MAX_ITEM_BYTES = 64 };

struct event_sample {
    uint64_t seed, state;
    struct tg_event event;
    char texts[MAX_TEXTS][MAX_TEXT];
    size_t n_texts;
    _Alignas(8) char items[2][MAX_ITEMS * MAX_ITEM_BYTES];
    size_t n_lists;
};

struct event_sample *event_sample_create(uint64_t seed)
{
    struct event_sample *sample = calloc(1, sizeof *sample);
    if (sample == NULL)
        abort();
    sample->seed = seed;
    return sample;
}

void event_sample_destroy(struct event_sample *sample)
{
    free(sample);
}

/* splitmix64 */
static uint64_t draw(struct event_sample *sample)
{
    uint64_t z = (sample->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t draw_number(struct event_sample *sample)
{
    static const uint64_t special[] = {0,
                                       1,
                                       127,
                                       128,
                                       16383,
                                       16384,
                                       UINT32_MAX,
                                       (uint64_t)INT64_MAX,
                                       (uint64_t)INT64_MIN,
                                       UINT64_MAX,
                                       UINT64_C(1) << 56,
                                       (UINT64_C(1) << 56) - 1,
                                       (UINT64_C(1) << 63) - 1};
    uint64_t choice = draw(sample) % 4;
    if (choice == 0)
        return special[draw(sample) % (sizeof special / sizeof *special)];
    if (choice == 1)
        return draw(sample) % 100;
    return draw(sample) >> (draw(sample) % 64);
}

static const char *draw_text(struct event_sample *sample)
{
    if (sample->n_texts == MAX_TEXTS)
        return "";
    switch (draw(sample) % 5) {
    case 0:
        return "";
    case 1:
        return NULL;
    case 2:
        return "/usr/lib/x86_64-linux-gnu/libc.so.6";
    case 3:
        return "\xff\x01 \"quoted\" \\ \xc3\xa9\n";
    default:
        break;
    }
    char *text = sample->texts[sample->n_texts++];
    snprintf(text, MAX_TEXT, "/tmp/lib%" PRIu64 ".so", draw(sample) % 1000);
    return text;
}

static void fill_record(struct event_sample *sample, const struct tg_record_schema *schema, char *record)
{
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type == TG_FIELD_LIST) {
            struct tg_list list = {.items = sample->items[sample->n_lists],
                                   .count = draw(sample) % (MAX_ITEMS + 1)};
            for (uint64_t i = 0; i < list.count; i++)
                fill_record(sample, field->element,
                            sample->items[sample->n_lists] + i * field->element->size_bytes);
            sample->n_lists++;
            memcpy(record + field->offset, &list, sizeof list);
        } else if (field->type == TG_FIELD_STRING) {
            const char *text = draw_text(sample);
            memcpy(record + field->offset, &text, sizeof text);
        } else {
            uint64_t value = draw_number(sample);
            if (field->type == TG_FIELD_BOOL)
                value &= 1;
            if (field->type == TG_FIELD_ENUM)
                value %= 7; /* some beyond the names: a newer writer's */
            memcpy(record + field->offset, &value, sizeof value);
        }
    }
}

const struct tg_event *event_sample_at(struct event_sample *sample, uint64_t i)
{
    sample->state = sample->seed + i * 1000003;
    sample->n_texts = sample->n_lists = 0;
    struct tg_event *event = &sample->event;
    *event = (struct tg_event){.kind = tg_event_kind_at(i % tg_event_kind_count())};
    event->time_ns =
        i % 50 == 49 ? draw_number(sample) : UINT64_C(1000000000000) + i * 1000 + draw(sample) % 5000;
    event->stop_ns = draw(sample) % 3 == 0 ? 0 : draw_number(sample);
    event->pid = i % 70 == 69 ? INT32_MIN : (int32_t)(1000 + draw(sample) % 3);
    event->tid = i % 90 == 89 ? INT32_MAX : event->pid + (int32_t)(draw(sample) % 5);
    fill_record(sample, tg_event_schema(event->kind), TG_EVENT_PAYLOAD(event));
    return event;
}

static bool records_equal(const struct tg_record_schema *schema, const char *a, const char *b)
{
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type == TG_FIELD_LIST) {
            struct tg_list x, y;
            memcpy(&x, a + field->offset, sizeof x);
            memcpy(&y, b + field->offset, sizeof y);
            if (x.count != y.count)
                return false;
            for (uint64_t i = 0; i < x.count; i++)
                if (!records_equal(field->element, (const char *)x.items + i * field->element->size_bytes,
                                   (const char *)y.items + i * field->element->size_bytes))
                    return false;
        } else if (field->type == TG_FIELD_STRING) {
            const char *x, *y;
            memcpy(&x, a + field->offset, sizeof x);
            memcpy(&y, b + field->offset, sizeof y);
            if (strcmp(x == NULL ? "" : x, y == NULL ? "" : y) != 0)
                return false;
        } else if (memcmp(a + field->offset, b + field->offset, sizeof(uint64_t)) != 0) {
            return false;
        }
    }
    return true;
}

bool event_equal(const struct tg_event *a, const struct tg_event *b)
{
    const struct tg_record_schema *schema = tg_event_schema(a->kind);
    return a->kind == b->kind && a->time_ns == b->time_ns && a->stop_ns == b->stop_ns && a->pid == b->pid &&
           a->tid == b->tid && schema != NULL &&
           records_equal(schema, (const char *)a + offsetof(struct tg_event, process_start),
                         (const char *)b + offsetof(struct tg_event, process_start));
}
