#include "format/trace/chunk_encoder.h"

#include "format/base/array.h"
#include "format/base/byte_cursor.h"
#include "format/base/search.h"
#include "format/trace/chunk_columns.h"
#include "format/trace/section.h"
#include "format/trace/wire_type.h"

#include <stdlib.h>

struct tg_thread_slot {
    uint64_t key; /* pid and tid */
    uint32_t id;  /* index + 1; 0: free */
};

struct tg_chunk_encoder {
    struct tg_chunk_columns columns;
    struct tg_thread_slot *thread_slots; /* hash of threads by key */
    uint32_t n_thread_slots;
    size_t thread_capacity;
    uint64_t recent_key;
    uint32_t recent_id; /* +1; 0: none */
    uint64_t previous_time_ns, last_time_ns;
    size_t raw_bytes;
};

/* Directory, counts and column lengths: far below this, whatever the kinds. */
enum { DIRECTORY_BYTES = 64 << 10, RECENT_KINDS = 4 };

struct tg_chunk_encoder *tg_chunk_encoder_create(struct tg_trace_units units)
{
    struct tg_chunk_encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL)
        return NULL;
    encoder->columns.units = units;
    encoder->columns.n_kinds = tg_event_kind_count();
    encoder->columns.kinds = calloc(encoder->columns.n_kinds, sizeof *encoder->columns.kinds);
    encoder->columns.kinds_used = calloc(encoder->columns.n_kinds, sizeof *encoder->columns.kinds_used);
    if (encoder->columns.kinds == NULL || encoder->columns.kinds_used == NULL)
        goto fail;
    for (size_t i = 0; i < encoder->columns.n_kinds; i++) {
        struct tg_chunk_kind *kind = &encoder->columns.kinds[i];
        kind->number = tg_event_kind_at(i);
        kind->schema = tg_event_schema(kind->number);
        kind->is_plain = true;
        for (size_t f = 0; f < kind->schema->n_fields; f++) {
            const struct tg_field *field = &kind->schema->fields[f];
            kind->n_columns += tg_field_columns(field);
            kind->is_plain &= field->type != TG_FIELD_STRING && field->type != TG_FIELD_LIST;
        }
        kind->columns = calloc(kind->n_columns, sizeof *kind->columns);
        if (kind->columns == NULL)
            goto fail;
    }
    return encoder;
fail:
    tg_chunk_encoder_destroy(encoder);
    return NULL;
}

void tg_chunk_encoder_destroy(struct tg_chunk_encoder *encoder)
{
    if (encoder == NULL)
        return;
    for (size_t i = 0; encoder->columns.kinds != NULL && i < encoder->columns.n_kinds; i++) {
        struct tg_chunk_kind *kind = &encoder->columns.kinds[i];
        for (size_t c = 0; kind->columns != NULL && c < kind->n_columns; c++)
            tg_byte_buffer_deinit(&kind->columns[c].bytes);
        free(kind->columns);
    }
    free(encoder->columns.kinds);
    free(encoder->columns.kinds_used);
    free(encoder->columns.threads);
    free(encoder->thread_slots);
    tg_byte_buffer_deinit(&encoder->columns.kind_column.bytes);
    tg_byte_buffer_deinit(&encoder->columns.thread_column.bytes);
    tg_byte_buffer_deinit(&encoder->columns.time_column.bytes);
    tg_byte_buffer_deinit(&encoder->columns.stop_column.bytes);
    tg_string_table_deinit(&encoder->columns.strings);
    free(encoder);
}

static void column_clear(struct tg_chunk_column *column)
{
    column->bytes.size = 0;
}

void tg_chunk_encoder_clear(struct tg_chunk_encoder *encoder)
{
    for (uint32_t i = 0; i < encoder->columns.n_kinds_used; i++) {
        struct tg_chunk_kind *kind = &encoder->columns.kinds[encoder->columns.kinds_used[i]];
        for (size_t c = 0; c < kind->n_columns; c++)
            column_clear(&kind->columns[c]);
        kind->chunk_index = kind->n_events = 0;
    }
    encoder->columns.n_kinds_used = 0;
    column_clear(&encoder->columns.kind_column);
    column_clear(&encoder->columns.thread_column);
    column_clear(&encoder->columns.time_column);
    column_clear(&encoder->columns.stop_column);
    tg_string_table_clear(&encoder->columns.strings);
    if (encoder->n_thread_slots > 0)
        memset(encoder->thread_slots, 0, encoder->n_thread_slots * sizeof *encoder->thread_slots);
    encoder->columns.n_threads = 0;
    encoder->recent_id = 0;
    encoder->previous_time_ns = 0;
    encoder->columns.n_events = encoder->raw_bytes = encoder->columns.n_list_items = 0;
    encoder->columns.first_time_ns = encoder->last_time_ns = 0;
}

static struct tg_chunk_kind *find_kind(const struct tg_chunk_encoder *encoder, unsigned number)
{
    const struct tg_chunk_columns *columns = &encoder->columns;
    for (uint32_t i = 0; i < columns->n_kinds_used && i < RECENT_KINDS; i++) {
        struct tg_chunk_kind *kind = &columns->kinds[columns->kinds_used[i]];
        if (kind->number == number)
            return kind;
    }
    size_t at = TG_LOWER_BOUND(columns->kinds, columns->n_kinds, number, number);
    return at < columns->n_kinds && columns->kinds[at].number == number ? &columns->kinds[at] : NULL;
}

/* Room that an event needs before any of it is written, so that writing cannot fail half-way. */
struct demand {
    uint64_t n_values;
    uint64_t n_items;
    uint64_t n_strings;
    uint64_t text_bytes;
};

static const char *text_of(const void *record, const struct tg_field *field)
{
    const char *text;
    memcpy(&text, (const char *)record + field->offset, sizeof text);
    return text;
}

static uint64_t number_of(const void *record, const struct tg_field *field)
{
    uint64_t value;
    memcpy(&value, (const char *)record + field->offset, sizeof value);
    return value;
}

static bool demand_text(struct demand *demand, const char *text)
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

static bool demand_list(struct demand *demand, const struct tg_field *field, const struct tg_list *list)
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
            if (!demand_text(demand, text_of(item, member)))
                return false;
    }
    return true;
}

/* False where the event alone is beyond a limit. */
static bool demand_event(struct demand *demand, const struct tg_chunk_kind *kind, const void *payload)
{
    const struct tg_record_schema *schema = kind->schema;
    if (kind->is_plain) {
        demand->n_values += kind->n_columns;
        return true;
    }
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        demand->n_values++;
        if (field->type == TG_FIELD_STRING && !demand_text(demand, text_of(payload, field)))
            return false;
        if (field->type == TG_FIELD_LIST &&
            !demand_list(demand, field, (const struct tg_list *)((const char *)payload + field->offset)))
            return false;
    }
    return true;
}

static bool reserve_value(struct tg_chunk_column *column, uint64_t count)
{
    return tg_byte_buffer_reserve(&column->bytes, count * TG_VARINT_MAX_BYTES + TG_CURSOR_PADDING);
}

static bool reserve_thread(struct tg_chunk_encoder *encoder)
{
    if (TG_ARRAY_RESERVE(encoder->columns.threads, encoder->thread_capacity,
                         encoder->columns.n_threads + 1) != NULL)
        return false;
    if (encoder->columns.n_threads * 2 < encoder->n_thread_slots)
        return true;
    uint32_t n = encoder->n_thread_slots == 0 ? 256 : encoder->n_thread_slots * 2;
    struct tg_thread_slot *slots = calloc(n, sizeof *slots);
    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < encoder->n_thread_slots; i++) {
        struct tg_thread_slot slot = encoder->thread_slots[i];
        if (slot.id == 0)
            continue;
        uint32_t at = (uint32_t)(slot.key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (n - 1);
        while (slots[at].id != 0)
            at = (at + 1) & (n - 1);
        slots[at] = slot;
    }
    free(encoder->thread_slots);
    encoder->thread_slots = slots;
    encoder->n_thread_slots = n;
    return true;
}

static bool reserve_event(struct tg_chunk_encoder *encoder, struct tg_chunk_kind *kind, const void *payload,
                          const struct demand *demand)
{
    if (!reserve_value(&encoder->columns.kind_column, 1) ||
        !reserve_value(&encoder->columns.thread_column, 1) ||
        !reserve_value(&encoder->columns.time_column, 1) ||
        !reserve_value(&encoder->columns.stop_column, 1) || !reserve_thread(encoder) ||
        (demand->n_strings > 0 &&
         !tg_string_table_reserve(&encoder->columns.strings, demand->n_strings, demand->text_bytes)))
        return false;
    struct tg_chunk_column *column = kind->columns;
    for (size_t c = 0; kind->is_plain && c < kind->n_columns; c++)
        if (!reserve_value(&column[c], 1))
            return false;
    if (kind->is_plain)
        return true;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        if (!reserve_value(column++, 1))
            return false;
        if (field->type != TG_FIELD_LIST)
            continue;
        uint64_t count = ((const struct tg_list *)((const char *)payload + field->offset))->count;
        for (size_t e = 0; e < field->element->n_fields; e++)
            if (!reserve_value(column++, count))
                return false;
    }
    return true;
}

static inline __attribute__((always_inline)) void put(struct tg_chunk_encoder *encoder,
                                                      struct tg_chunk_column *column, uint64_t coded)
{
    size_t before = column->bytes.size;
    tg_byte_buffer_put_varint(&column->bytes, coded);
    encoder->raw_bytes += column->bytes.size - before;
}

static void put_field(struct tg_chunk_encoder *encoder, struct tg_chunk_column *column,
                      const struct tg_field *field, const void *record)
{
    switch (tg_wire_type(field->type)) {
    case TG_WIRE_UNSIGNED:
    case TG_WIRE_ADDRESS:
    case TG_WIRE_LIST:
        put(encoder, column, number_of(record, field));
        break;
    case TG_WIRE_SIGNED:
        put(encoder, column, tg_zigzag(number_of(record, field)));
        break;
    case TG_WIRE_STRING: {
        const char *text = text_of(record, field);
        size_t before = encoder->columns.strings.text.size;
        put(encoder, column,
            text == NULL ? 0 : tg_string_table_intern(&encoder->columns.strings, text, strlen(text)));
        encoder->raw_bytes += encoder->columns.strings.text.size - before;
        break;
    }
    }
}

/* Numbers alone: what there is most of. */
static void put_numbers(struct tg_chunk_encoder *encoder, struct tg_chunk_kind *kind, const void *payload)
{
    size_t n_bytes = 0;
    for (size_t f = 0; f < kind->n_columns; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        uint64_t number = number_of(payload, field);
        struct tg_byte_buffer *bytes = &kind->columns[f].bytes;
        size_t before = bytes->size;
        tg_byte_buffer_put_varint(bytes, field->type == TG_FIELD_SIGNED ? tg_zigzag(number) : number);
        n_bytes += bytes->size - before;
    }
    encoder->raw_bytes += n_bytes;
}

static void put_payload(struct tg_chunk_encoder *encoder, struct tg_chunk_kind *kind, const void *payload)
{
    struct tg_chunk_column *column = kind->columns;
    if (kind->is_plain) {
        put_numbers(encoder, kind, payload);
        return;
    }
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        if (field->type != TG_FIELD_LIST) {
            put_field(encoder, column++, field, payload);
            continue;
        }
        const struct tg_list *list = (const struct tg_list *)((const char *)payload + field->offset);
        put(encoder, column++, list->count);
        encoder->columns.n_list_items += list->count;
        for (size_t e = 0; e < field->element->n_fields; e++, column++) {
            const char *item = list->items;
            for (uint64_t i = 0; i < list->count; i++, item += field->element->size_bytes)
                put_field(encoder, column, &field->element->fields[e], item);
        }
    }
}

static uint32_t intern_thread(struct tg_chunk_encoder *encoder, int32_t pid, int32_t tid)
{
    uint64_t key = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
    if (encoder->recent_id != 0 && key == encoder->recent_key)
        return encoder->recent_id - 1;
    uint32_t mask = encoder->n_thread_slots - 1;
    uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (encoder->thread_slots[i].id != 0 && encoder->thread_slots[i].key != key)
        i = (i + 1) & mask;
    if (encoder->thread_slots[i].id == 0) {
        encoder->columns.threads[encoder->columns.n_threads++] = key;
        encoder->thread_slots[i] = (struct tg_thread_slot){key, encoder->columns.n_threads};
        encoder->raw_bytes += 4;
    }
    encoder->recent_key = key;
    encoder->recent_id = encoder->thread_slots[i].id;
    return encoder->recent_id - 1;
}

static uint64_t round_down(uint64_t value, unsigned shift)
{
    return value >> shift << shift;
}

/* Rounds as tg_chunk_encoder_create says. */
static void put_times(struct tg_chunk_encoder *encoder, uint64_t time_ns, uint64_t stop_ns)
{
    unsigned stop_shift = encoder->columns.units.stop_shift;
    uint64_t start_ns = round_down(time_ns, encoder->columns.units.time_shift), end_ns = time_ns + stop_ns;
    if (stop_ns > 0 && stop_shift > 0) {
        if (end_ns < time_ns) /* cannot be; its own length is rounded then */
            stop_ns = round_down(stop_ns, stop_shift);
        else
            stop_ns = round_down(end_ns, stop_shift) - round_down(time_ns, stop_shift);
        if (stop_ns == 0)
            stop_ns = UINT64_C(1) << stop_shift;
    }
    put(encoder, &encoder->columns.time_column, tg_zigzag(start_ns - encoder->previous_time_ns));
    encoder->previous_time_ns = start_ns;
    put(encoder, &encoder->columns.stop_column, stop_ns);
    if (encoder->columns.n_events == 0 || start_ns < encoder->columns.first_time_ns)
        encoder->columns.first_time_ns = start_ns;
    if (encoder->columns.n_events == 0 || start_ns > encoder->last_time_ns)
        encoder->last_time_ns = start_ns;
}

enum tg_chunk_add tg_chunk_encoder_add(struct tg_chunk_encoder *encoder, const struct tg_event *event)
{
    struct tg_chunk_kind *kind = find_kind(encoder, event->kind);
    if (kind == NULL)
        return TG_CHUNK_TOO_LARGE;
    const void *payload = TG_EVENT_PAYLOAD((struct tg_event *)(uintptr_t)event);
    struct demand demand = {.n_values = 6}; /* kind, thread (itself, its pid, its tid), time and stop */
    if (!demand_event(&demand, kind, payload))
        return TG_CHUNK_TOO_LARGE;
    uint64_t bound =
        demand.n_values * TG_VARINT_MAX_BYTES + demand.text_bytes + demand.n_strings + DIRECTORY_BYTES;
    if (bound > TG_SECTION_MAX_RAW_BYTES)
        return TG_CHUNK_TOO_LARGE;
    if (encoder->raw_bytes + bound > TG_SECTION_MAX_RAW_BYTES ||
        encoder->columns.n_events >= TG_CHUNK_MAX_EVENTS ||
        encoder->columns.n_list_items + demand.n_items > TG_CHUNK_MAX_LIST_ITEMS ||
        encoder->columns.strings.count + demand.n_strings > TG_CHUNK_MAX_STRINGS)
        return TG_CHUNK_FULL;
    if (!reserve_event(encoder, kind, payload, &demand))
        return TG_CHUNK_NO_MEMORY;
    if (kind->chunk_index == 0) {
        encoder->columns.kinds_used[encoder->columns.n_kinds_used++] =
            (uint32_t)(kind - encoder->columns.kinds);
        kind->chunk_index = encoder->columns.n_kinds_used;
    }
    kind->n_events++;
    put(encoder, &encoder->columns.kind_column, kind->chunk_index - 1);
    uint32_t n_threads = encoder->columns.n_threads;
    uint32_t thread = intern_thread(encoder, event->pid, event->tid);
    put(encoder, &encoder->columns.thread_column, n_threads - thread); /* 0 for one that is new */
    put_times(encoder, event->time_ns, event->stop_ns);
    put_payload(encoder, kind, payload);
    encoder->columns.n_events++;
    return TG_CHUNK_ADDED;
}

size_t tg_chunk_encoder_count(const struct tg_chunk_encoder *encoder)
{
    return encoder->columns.n_events;
}

size_t tg_chunk_encoder_raw_bytes(const struct tg_chunk_encoder *encoder)
{
    return encoder->raw_bytes;
}

size_t tg_chunk_encoder_memory(const struct tg_chunk_encoder *encoder)
{
    size_t bytes = sizeof *encoder + tg_string_table_memory(&encoder->columns.strings) +
                   encoder->thread_capacity * sizeof *encoder->columns.threads +
                   encoder->n_thread_slots * sizeof *encoder->thread_slots +
                   encoder->columns.kind_column.bytes.capacity +
                   encoder->columns.thread_column.bytes.capacity +
                   encoder->columns.time_column.bytes.capacity + encoder->columns.stop_column.bytes.capacity;
    for (size_t i = 0; i < encoder->columns.n_kinds; i++)
        for (size_t c = 0; c < encoder->columns.kinds[i].n_columns; c++)
            bytes += encoder->columns.kinds[i].columns[c].bytes.capacity;
    return bytes;
}

uint64_t tg_chunk_encoder_first_time(const struct tg_chunk_encoder *encoder)
{
    return encoder->columns.first_time_ns;
}

uint64_t tg_chunk_encoder_last_time(const struct tg_chunk_encoder *encoder)
{
    return encoder->last_time_ns;
}

const struct tg_chunk_columns *tg_chunk_encoder_columns(const struct tg_chunk_encoder *encoder)
{
    return &encoder->columns;
}
