#include "format/trace/chunk_encoder.h"

#include "format/base/array.h"
#include "format/base/byte_cursor.h"
#include "format/base/search.h"
#include "format/trace/chunk_columns.h"
#include "format/trace/chunk_demand.h"
#include "format/trace/chunk_tail.h"
#include "format/trace/section.h"
#include "format/trace/wire_type.h"

#include <stdlib.h>
#include <string.h>

struct tg_thread_slot {
    uint64_t key; /* pid and tid */
    uint32_t id;  /* index + 1; 0: free */
};

/* A payload by its maker's number, and a string by its place in memory: what they were last. */
struct known_payload {
    uint64_t id; /* 0: none */
    struct tg_chunk_kind *kind;
    uint32_t row;
    uint32_t row_bytes; /* as tg_chunk_rows_bytes says */
};

/* A thread that had an event not long ago. */
struct recent_thread {
    uint64_t key;
    uint32_t id; /* index + 1; 0: none */
};

struct known_text {
    const char *place; /* NULL: none */
    uint32_t id;
};

enum {
    RECENT_KINDS = 4,
    RECENT_THREADS = 16,
    FIRST_EVENTS = 256,
    KNOWN_PAYLOADS = 1024,
    KNOWN_TEXTS = 256,
    KNOWN_TEXT_BYTES = 64, /* longer ones are looked up */
};

struct tg_chunk_encoder {
    struct tg_chunk_tail tail;
    size_t end_events; /* as tg_chunk_encoder_tail says */
    size_t event_capacity, stop_capacity;
    struct known_payload payloads[KNOWN_PAYLOADS];
    struct known_text texts[KNOWN_TEXTS];
    struct tg_thread_slot *thread_slots; /* hash of threads by key */
    uint32_t n_thread_slots;
    size_t thread_capacity;
    struct recent_thread recent[RECENT_THREADS]; /* by the lowest bits of tid */
    size_t
        with_items; /* how many events there were with the last one that has items of one member, 0: none; ... */
    uint32_t n_items, items_at, items_bytes; /* ... which are these */
    uint64_t numbers_bytes;                  /* at most, of an event without new strings and items */
};

static uint64_t next_number(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

struct tg_chunk_encoder *tg_chunk_encoder_create(struct tg_trace_units units)
{
    struct tg_chunk_encoder *encoder = calloc(1, sizeof *encoder);
    if (encoder == NULL)
        return NULL;
    encoder->tail.encoder = encoder;
    encoder->tail.chunk = next_number();
    const struct tg_chunk_demand numbers_alone = {.n_values = TG_EVENT_MAX_FIELDS};
    encoder->numbers_bytes = tg_chunk_demand_bytes(&numbers_alone);
    tg_chunk_encoder_tail(encoder, SIZE_MAX, SIZE_MAX);
    encoder->tail.columns.units = units;
    encoder->tail.columns.n_kinds = tg_event_kind_count();
    encoder->tail.columns.kinds = calloc(encoder->tail.columns.n_kinds, sizeof *encoder->tail.columns.kinds);
    encoder->tail.columns.kinds_used =
        calloc(encoder->tail.columns.n_kinds, sizeof *encoder->tail.columns.kinds_used);
    if (encoder->tail.columns.kinds == NULL || encoder->tail.columns.kinds_used == NULL)
        goto fail;
    for (size_t i = 0; i < encoder->tail.columns.n_kinds; i++) {
        struct tg_chunk_kind *kind = &encoder->tail.columns.kinds[i];
        kind->number = tg_event_kind_at(i);
        kind->schema = tg_event_schema(kind->number);
        kind->is_plain = true;
        for (size_t f = 0; f < kind->schema->n_fields; f++) {
            const struct tg_field *field = &kind->schema->fields[f];
            kind->n_members += tg_field_columns(field) - 1;
            kind->is_plain &= field->type != TG_FIELD_STRING && field->type != TG_FIELD_LIST &&
                              field->offset == f * sizeof(uint64_t);
            kind->signed_fields |= (uint32_t)(field->type == TG_FIELD_SIGNED) << f;
        }
        kind->rows.n_numbers = kind->schema->n_fields;
        kind->members = calloc(kind->n_members + 1, sizeof *kind->members);
        if (kind->members == NULL)
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
    for (size_t i = 0; encoder->tail.columns.kinds != NULL && i < encoder->tail.columns.n_kinds; i++) {
        struct tg_chunk_kind *kind = &encoder->tail.columns.kinds[i];
        for (size_t m = 0; kind->members != NULL && m < kind->n_members; m++)
            tg_byte_buffer_deinit(&kind->members[m].bytes);
        free(kind->members);
        tg_chunk_rows_deinit(&kind->rows);
    }
    free(encoder->tail.columns.kinds);
    free(encoder->tail.columns.kinds_used);
    free(encoder->tail.columns.threads);
    free(encoder->thread_slots);
    free(encoder->tail.columns.event_kinds);
    free(encoder->tail.columns.event_threads);
    free(encoder->tail.columns.event_rows);
    free(encoder->tail.columns.event_times);
    free(encoder->tail.columns.event_stops);
    tg_string_table_deinit(&encoder->tail.columns.strings);
    free(encoder);
}

void tg_chunk_encoder_clear(struct tg_chunk_encoder *encoder)
{
    for (uint32_t i = 0; i < encoder->tail.columns.n_kinds_used; i++) {
        struct tg_chunk_kind *kind = &encoder->tail.columns.kinds[encoder->tail.columns.kinds_used[i]];
        for (size_t m = 0; m < kind->n_members; m++)
            kind->members[m].bytes.size = 0;
        tg_chunk_rows_clear(&kind->rows);
        kind->chunk_index = kind->n_events = 0;
    }
    encoder->tail.columns.n_kinds_used = 0;
    encoder->tail.columns.n_stops = 0;
    memset(encoder->payloads, 0, sizeof encoder->payloads);
    memset(encoder->texts, 0, sizeof encoder->texts);
    tg_string_table_clear(&encoder->tail.columns.strings);
    if (encoder->n_thread_slots > 0)
        memset(encoder->thread_slots, 0, encoder->n_thread_slots * sizeof *encoder->thread_slots);
    encoder->tail.columns.n_threads = 0;
    memset(encoder->recent, 0, sizeof encoder->recent);
    encoder->with_items = 0;
    encoder->tail.previous_time_ns = 0;
    encoder->tail.columns.n_events = encoder->tail.raw_bytes = encoder->tail.columns.n_list_items = 0;
    encoder->tail.chunk = next_number();
    encoder->tail.columns.first_time_ns = encoder->tail.last_time_ns = 0;
}

static struct tg_chunk_kind *find_kind(const struct tg_chunk_encoder *encoder, unsigned number)
{
    const struct tg_chunk_columns *columns = &encoder->tail.columns;
    for (uint32_t i = 0; i < columns->n_kinds_used && i < RECENT_KINDS; i++) {
        struct tg_chunk_kind *kind = &columns->kinds[columns->kinds_used[i]];
        if (kind->number == number)
            return kind;
    }
    size_t at = TG_LOWER_BOUND(columns->kinds, columns->n_kinds, number, number);
    return at < columns->n_kinds && columns->kinds[at].number == number ? &columns->kinds[at] : NULL;
}

static uint64_t number_of(const void *record, const struct tg_field *field)
{
    uint64_t value;
    memcpy(&value, (const char *)record + field->offset, sizeof value);
    return value;
}

static bool reserve_value(struct tg_chunk_column *column, uint64_t count)
{
    return tg_byte_buffer_reserve(&column->bytes, count * TG_VARINT_MAX_BYTES + TG_CURSOR_PADDING);
}

static bool reserve_thread(struct tg_chunk_encoder *encoder)
{
    if (TG_ARRAY_RESERVE(encoder->tail.columns.threads, encoder->thread_capacity,
                         encoder->tail.columns.n_threads + 1) != NULL)
        return false;
    if (encoder->tail.columns.n_threads * 2 < encoder->n_thread_slots)
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

static bool reserve_lists(struct tg_chunk_kind *kind, const void *payload)
{
    struct tg_chunk_column *members = kind->members;
    for (size_t f = 0; f < kind->schema->n_fields && kind->n_members > 0; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        if (field->type != TG_FIELD_LIST)
            continue;
        uint64_t count = ((const struct tg_list *)((const char *)payload + field->offset))->count;
        for (size_t e = 0; count > 0 && e < field->element->n_fields; e++)
            if (!reserve_value(&members[e], count))
                return false;
        members += field->element->n_fields;
    }
    return true;
}

static bool grow(void *items, size_t size, size_t capacity)
{
    void *grown = realloc(*(void **)items, size * capacity);
    if (grown != NULL)
        *(void **)items = grown;
    return grown != NULL;
}

static void limit_tail(struct tg_chunk_encoder *encoder)
{
    encoder->tail.max_events =
        encoder->event_capacity < encoder->end_events ? encoder->event_capacity : encoder->end_events - 1;
}

static bool reserve_common(struct tg_chunk_encoder *encoder, uint64_t stop_ns)
{
    struct tg_chunk_columns *columns = &encoder->tail.columns;
    if (columns->n_events == encoder->event_capacity) {
        size_t capacity = encoder->event_capacity == 0 ? FIRST_EVENTS : 2 * encoder->event_capacity;
        if (!grow(&columns->event_kinds, sizeof *columns->event_kinds, capacity) ||
            !grow(&columns->event_threads, sizeof *columns->event_threads, capacity) ||
            !grow(&columns->event_rows, sizeof *columns->event_rows, capacity) ||
            !grow(&columns->event_times, sizeof *columns->event_times, capacity))
            return false;
        encoder->event_capacity = capacity;
        limit_tail(encoder);
    }
    if (stop_ns > 0 &&
        TG_ARRAY_RESERVE(columns->event_stops, encoder->stop_capacity, columns->n_events + 1) != NULL)
        return false;
    return reserve_thread(encoder);
}

static inline __attribute__((always_inline)) void put(struct tg_chunk_encoder *encoder,
                                                      struct tg_chunk_column *column, uint64_t coded)
{
    size_t before = column->bytes.size;
    tg_byte_buffer_put_varint(&column->bytes, coded);
    encoder->tail.raw_bytes += column->bytes.size - before;
}

static uint64_t intern_text(struct tg_chunk_encoder *encoder, const char *text)
{
    if (text == NULL)
        return 0;
    size_t before = encoder->tail.columns.strings.text.size;
    uint32_t id = tg_string_table_intern(&encoder->tail.columns.strings, text, strlen(text));
    encoder->tail.raw_bytes += encoder->tail.columns.strings.text.size - before;
    return id;
}

static struct known_text *known_text_of(struct tg_chunk_encoder *encoder, const char *text)
{
    return &encoder->texts[(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (KNOWN_TEXTS - 1)];
}

/* Whether TEXT is in the chunk and was at the same place when it came; ID becomes its number. */
static bool is_known_text(struct tg_chunk_encoder *encoder, const char *text, uint64_t *id)
{
    *id = 0;
    if (text == NULL || text[0] == '\0')
        return true;
    const struct known_text *known = known_text_of(encoder, text);
    if (known->place != text ||
        strcmp(text, tg_string_table_at(&encoder->tail.columns.strings, known->id)) != 0)
        return false;
    *id = known->id;
    return true;
}

static uint64_t put_text(struct tg_chunk_encoder *encoder, const char *text)
{
    uint64_t id = intern_text(encoder, text);
    if (id != 0 && strlen(text) < KNOWN_TEXT_BYTES)
        *known_text_of(encoder, text) = (struct known_text){text, (uint32_t)id};
    return id;
}

static void put_member(struct tg_chunk_encoder *encoder, struct tg_chunk_column *column,
                       const struct tg_field *member, const void *item)
{
    uint64_t number;
    if (member->type == TG_FIELD_STRING) {
        const char *text = tg_chunk_text_of(item, member);
        if (!is_known_text(encoder, text, &number))
            number = put_text(encoder, text);
    } else {
        number =
            member->type == TG_FIELD_SIGNED ? tg_zigzag(number_of(item, member)) : number_of(item, member);
    }
    put(encoder, column, number);
}

static void put_lists(struct tg_chunk_encoder *encoder, struct tg_chunk_kind *kind, const void *payload)
{
    struct tg_chunk_column *column = kind->members;
    for (size_t f = 0; f < kind->schema->n_fields && kind->n_members > 0; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        if (field->type != TG_FIELD_LIST)
            continue;
        const struct tg_list *list = (const struct tg_list *)((const char *)payload + field->offset);
        encoder->tail.columns.n_list_items += list->count;
        for (size_t e = 0; e < field->element->n_fields; e++, column++) {
            const char *item = list->items;
            for (uint64_t i = 0; i < list->count; i++, item += field->element->size_bytes)
                put_member(encoder, column, &field->element->fields[e], item);
        }
    }
}

/* All numbers of the row of an event of a plain kind. */
static inline void take_plain_numbers(const struct tg_chunk_kind *kind, const void *payload,
                                      uint64_t *numbers)
{
    memcpy(numbers, payload, kind->schema->n_fields * sizeof *numbers);
    for (uint32_t left = kind->signed_fields; left != 0; left &= left - 1) {
        int f = __builtin_ctz(left);
        numbers[f] = tg_zigzag(numbers[f]);
    }
}

/* The numbers of an event's row, except those of strings and the lengths of lists. */
static inline void take_numbers(const struct tg_record_schema *schema, const void *payload, uint64_t *numbers)
{
    for (size_t f = 0; f < schema->n_fields; f++) {
        uint64_t number = number_of(payload, &schema->fields[f]);
        numbers[f] = schema->fields[f].type == TG_FIELD_SIGNED ? tg_zigzag(number) : number;
    }
}

/* All of them, where no new string and no item of a list comes with it. */
static bool take_row(struct tg_chunk_encoder *encoder, const struct tg_chunk_kind *kind, const void *payload,
                     uint64_t *numbers)
{
    const struct tg_record_schema *schema = kind->schema;
    if (kind->is_plain) {
        take_plain_numbers(kind, payload, numbers);
        return true;
    }
    take_numbers(schema, payload, numbers);
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type == TG_FIELD_STRING &&
            !is_known_text(encoder, tg_chunk_text_of(payload, field), &numbers[f]))
            return false;
        if (field->type != TG_FIELD_LIST)
            continue;
        numbers[f] = ((const struct tg_list *)((const char *)payload + field->offset))->count;
        if (numbers[f] != 0)
            return false;
    }
    return true;
}

/* The others: strings and lists get into the chunk. */
static void put_row(struct tg_chunk_encoder *encoder, const struct tg_chunk_kind *kind, const void *payload,
                    uint64_t *numbers)
{
    const struct tg_record_schema *schema = kind->schema;
    take_numbers(schema, payload, numbers);
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type == TG_FIELD_STRING)
            numbers[f] = put_text(encoder, tg_chunk_text_of(payload, field));
        else if (field->type == TG_FIELD_LIST)
            numbers[f] = ((const struct tg_list *)((const char *)payload + field->offset))->count;
    }
}

static uint64_t key_of(int32_t pid, int32_t tid)
{
    return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static uint32_t intern_thread(struct tg_chunk_encoder *encoder, int32_t pid, int32_t tid)
{
    uint64_t key = key_of(pid, tid);
    struct recent_thread *recent = &encoder->recent[(uint32_t)tid % RECENT_THREADS];
    if (recent->id != 0 && key == recent->key)
        return recent->id - 1;
    uint32_t mask = encoder->n_thread_slots - 1;
    uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (encoder->thread_slots[i].id != 0 && encoder->thread_slots[i].key != key)
        i = (i + 1) & mask;
    if (encoder->thread_slots[i].id == 0) {
        encoder->tail.columns.threads[encoder->tail.columns.n_threads++] = key;
        encoder->thread_slots[i] = (struct tg_thread_slot){key, encoder->tail.columns.n_threads};
        encoder->tail.raw_bytes += 4;
    }
    *recent = (struct recent_thread){key, encoder->thread_slots[i].id};
    return recent->id - 1;
}

static uint64_t round_down(uint64_t value, unsigned shift)
{
    return value >> shift << shift;
}

/* Rounds as tg_chunk_encoder_create says. */
static void put_times(struct tg_chunk_encoder *encoder, uint64_t time_ns, uint64_t stop_ns)
{
    unsigned stop_shift = encoder->tail.columns.units.stop_shift;
    uint64_t start_ns = round_down(time_ns, encoder->tail.columns.units.time_shift),
             end_ns = time_ns + stop_ns;
    if (stop_ns > 0 && stop_shift > 0) {
        if (end_ns < time_ns) /* cannot be; its own length is rounded then */
            stop_ns = round_down(stop_ns, stop_shift);
        else
            stop_ns = round_down(end_ns, stop_shift) - round_down(time_ns, stop_shift);
        if (stop_ns == 0)
            stop_ns = UINT64_C(1) << stop_shift;
    }
    struct tg_chunk_columns *columns = &encoder->tail.columns;
    encoder->tail.raw_bytes +=
        tg_varint_bytes(tg_zigzag(start_ns - encoder->tail.previous_time_ns)) + tg_varint_bytes(stop_ns);
    encoder->tail.previous_time_ns = start_ns;
    columns->event_times[columns->n_events] = start_ns;
    if (stop_ns > 0) {
        memset(columns->event_stops + columns->n_stops, 0,
               (columns->n_events - columns->n_stops) * sizeof *columns->event_stops);
        columns->event_stops[columns->n_events] = stop_ns;
        columns->n_stops = columns->n_events + 1;
    }
    if (encoder->tail.columns.n_events == 0 || start_ns < encoder->tail.columns.first_time_ns)
        encoder->tail.columns.first_time_ns = start_ns;
    if (encoder->tail.columns.n_events == 0 || start_ns > encoder->tail.last_time_ns)
        encoder->tail.last_time_ns = start_ns;
}

/* What every event has, and its row, which takes ROW_BYTES and for which there is room. */
static void put_event(struct tg_chunk_encoder *encoder, struct tg_chunk_kind *kind,
                      const struct tg_event *event, uint32_t row, uint64_t row_bytes)
{
    struct tg_chunk_columns *columns = &encoder->tail.columns;
    if (kind->chunk_index == 0) {
        columns->kinds_used[columns->n_kinds_used++] = (uint32_t)(kind - columns->kinds);
        kind->chunk_index = columns->n_kinds_used;
    }
    kind->n_events++;
    uint32_t n_threads = columns->n_threads, thread = intern_thread(encoder, event->pid, event->tid);
    columns->event_kinds[columns->n_events] = (uint8_t)(kind->chunk_index - 1);
    columns->event_threads[columns->n_events] = thread;
    columns->event_rows[columns->n_events] = row;
    encoder->tail.raw_bytes +=
        tg_varint_bytes(kind->chunk_index - 1) + tg_varint_bytes(n_threads - thread) + row_bytes;
    put_times(encoder, event->time_ns, event->stop_ns);
    __atomic_store_n(&columns->n_events, columns->n_events + 1, __ATOMIC_RELAXED);
    encoder->tail.last_is_repeatable = true;
}

/* For an event without new strings and items. */
static bool has_room_for_numbers(const struct tg_chunk_encoder *encoder)
{
    return encoder->tail.raw_bytes + encoder->numbers_bytes <= TG_SECTION_MAX_RAW_BYTES &&
           encoder->tail.columns.n_events < TG_CHUNK_MAX_EVENTS;
}

static bool has_room(const struct tg_chunk_encoder *encoder, const struct tg_chunk_demand *demand,
                     uint64_t bound)
{
    return encoder->tail.raw_bytes + bound <= TG_SECTION_MAX_RAW_BYTES &&
           encoder->tail.columns.n_events < TG_CHUNK_MAX_EVENTS &&
           encoder->tail.columns.n_list_items + demand->n_items <= TG_CHUNK_MAX_LIST_ITEMS &&
           encoder->tail.columns.strings.count + demand->n_strings <= TG_CHUNK_MAX_STRINGS;
}

/* The payload of EVENT is ROW; it has no items of lists, which come with each event. */
static inline void know(struct tg_chunk_encoder *encoder, struct tg_chunk_kind *kind,
                        const struct tg_event *event, uint32_t row)
{
    if (event->payload_id != 0)
        encoder->payloads[event->payload_id % KNOWN_PAYLOADS] = (struct known_payload){
            event->payload_id, kind, row, (uint32_t)tg_chunk_rows_bytes(&kind->rows, row)};
}

/* With new strings or items of lists. */
static enum tg_chunk_add add_slowly(struct tg_chunk_encoder *encoder, struct tg_chunk_kind *kind,
                                    const struct tg_event *event, const void *payload)
{
    struct tg_chunk_demand demand = {0};
    uint64_t numbers[TG_EVENT_MAX_FIELDS];
    if (!tg_chunk_demand_event(&demand, kind->schema, payload))
        return TG_CHUNK_TOO_LARGE;
    uint64_t bound = tg_chunk_demand_bytes(&demand);
    if (bound > TG_SECTION_MAX_RAW_BYTES)
        return TG_CHUNK_TOO_LARGE;
    if (!has_room(encoder, &demand, bound))
        return TG_CHUNK_FULL;
    if (!reserve_common(encoder, event->stop_ns) || !tg_chunk_rows_reserve(&kind->rows) ||
        !reserve_lists(kind, payload) ||
        (demand.n_strings > 0 &&
         !tg_string_table_reserve(&encoder->tail.columns.strings, demand.n_strings, demand.text_bytes)))
        return TG_CHUNK_NO_MEMORY;
    put_row(encoder, kind, payload, numbers);
    size_t items_at = kind->n_members == 1 ? kind->members[0].bytes.size : 0;
    put_lists(encoder, kind, payload);
    uint32_t row = tg_chunk_rows_put(&kind->rows, numbers, kind->n_events);
    if (demand.n_items == 0)
        know(encoder, kind, event, row);
    put_event(encoder, kind, event, row, tg_chunk_rows_bytes(&kind->rows, row));
    encoder->tail.last_is_repeatable = demand.n_items == 0 || kind->n_members == 1;
    if (demand.n_items > 0 && kind->n_members == 1) {
        encoder->with_items = encoder->tail.columns.n_events;
        encoder->n_items = (uint32_t)demand.n_items;
        encoder->items_at = (uint32_t)items_at;
        encoder->items_bytes = (uint32_t)(kind->members[0].bytes.size - items_at);
    }
    return TG_CHUNK_ADDED;
}

/* Whether EVENT, of a thread that had one not long ago, has room as it is. */
static bool has_room_in_common(const struct tg_chunk_encoder *encoder, const struct tg_event *event)
{
    const struct recent_thread *recent = &encoder->recent[(uint32_t)event->tid % RECENT_THREADS];
    return encoder->tail.columns.n_events < encoder->event_capacity && event->stop_ns == 0 &&
           recent->id != 0 && recent->key == key_of(event->pid, event->tid);
}

/* With the payload of row KNOWN. */
static enum tg_chunk_add add_again(struct tg_chunk_encoder *encoder, const struct known_payload *known,
                                   const struct tg_event *event)
{
    if (!has_room_for_numbers(encoder))
        return TG_CHUNK_FULL;
    if (!has_room_in_common(encoder, event) && !reserve_common(encoder, event->stop_ns))
        return TG_CHUNK_NO_MEMORY;
    put_event(encoder, known->kind, event, known->row, known->row_bytes);
    return TG_CHUNK_ADDED;
}

enum tg_chunk_add tg_chunk_encoder_add(struct tg_chunk_encoder *encoder, const struct tg_event *event)
{
    const struct known_payload *known = &encoder->payloads[event->payload_id % KNOWN_PAYLOADS];
    if (event->payload_id != 0 && known->id == event->payload_id)
        return add_again(encoder, known, event);
    struct tg_chunk_kind *kind = find_kind(encoder, event->kind);
    if (kind == NULL)
        return TG_CHUNK_TOO_LARGE;
    const void *payload = TG_EVENT_PAYLOAD((struct tg_event *)(uintptr_t)event);
    uint64_t numbers[TG_EVENT_MAX_FIELDS];
    if (!take_row(encoder, kind, payload, numbers))
        return add_slowly(encoder, kind, event, payload);
    if (!has_room_for_numbers(encoder))
        return TG_CHUNK_FULL;
    if (!reserve_common(encoder, event->stop_ns) || !tg_chunk_rows_reserve(&kind->rows))
        return TG_CHUNK_NO_MEMORY;
    uint32_t row = tg_chunk_rows_put(&kind->rows, numbers, kind->n_events);
    know(encoder, kind, event, row);
    put_event(encoder, kind, event, row, tg_chunk_rows_bytes(&kind->rows, row));
    return TG_CHUNK_ADDED;
}

enum { PLACE_THREAD_BYTES = 3 }; /* of a thread's index, however many follow */

struct tg_event_place tg_chunk_encoder_last_place(const struct tg_chunk_encoder *encoder)
{
    const struct tg_chunk_columns *columns = &encoder->tail.columns;
    if (columns->n_events == 0 || !encoder->tail.last_is_repeatable)
        return (struct tg_event_place){0};
    size_t last = columns->n_events - 1;
    uint32_t number = columns->event_kinds[last], row = columns->event_rows[last];
    const struct tg_chunk_kind *kind = &columns->kinds[columns->kinds_used[number]];
    uint64_t bytes = tg_varint_bytes(number) + PLACE_THREAD_BYTES;
    for (uint32_t f = 0; f < kind->rows.n_numbers; f++)
        bytes += tg_varint_bytes(tg_chunk_rows_number(&kind->rows, row, f));
    struct tg_event_place place = {.chunk = encoder->tail.chunk,
                                   .kind = (uint32_t)(kind - columns->kinds),
                                   .row = row,
                                   .thread = columns->event_threads[last],
                                   .raw_bytes = (uint32_t)bytes};
    if (encoder->with_items == columns->n_events) {
        place.changed = TG_EVENT_SAME_ITEMS;
        place.n_items = encoder->n_items;
        place.items_at = encoder->items_at;
        place.items_bytes = encoder->items_bytes;
        place.raw_bytes += encoder->items_bytes;
    }
    return place;
}

/* The row of PLACE becomes a variant with the numbers of PAYLOAD, where few have changed. */
static bool vary_place(struct tg_chunk_kind *kind, const void *payload, struct tg_event_place *place)
{
    uint64_t numbers[TG_EVENT_MAX_FIELDS];
    uint32_t fields = place->changed, bytes = place->raw_bytes, n = 0;
    if (fields == TG_EVENT_ALL_FIELDS || !tg_chunk_rows_reserve_variant(&kind->rows))
        return false;
    for (uint32_t left = fields; left != 0; left &= left - 1) {
        uint32_t f = (uint32_t)__builtin_ctz(left);
        uint64_t number = number_of(payload, &kind->schema->fields[f]);
        numbers[n] = kind->schema->fields[f].type == TG_FIELD_SIGNED ? tg_zigzag(number) : number;
        bytes += (uint32_t)(tg_varint_bytes(numbers[n]) -
                            tg_varint_bytes(tg_chunk_rows_number(&kind->rows, place->row, f)));
        n++;
    }
    uint32_t row = tg_chunk_rows_vary(&kind->rows, place->row, fields, numbers);
    if (row == TG_CHUNK_NO_ROW)
        return false;
    place->row = row;
    place->raw_bytes = bytes;
    place->changed = 0;
    return true;
}

/* The same where the row of PLACE is a variant already and the fields that have changed, none with a sign, are those that move. */
static inline bool vary_place_again(struct tg_chunk_kind *kind, const char *payload,
                                    struct tg_event_place *place)
{
    struct tg_chunk_rows *rows = &kind->rows;
    uint32_t from = place->row & ~TG_CHUNK_VARIANT, made = rows->n_variants, bytes = place->raw_bytes;
    uint64_t moved[TG_CHUNK_MOVING] = {0};
    if (from == place->row || made >= rows->max_variants || (place->changed & kind->signed_fields) != 0 ||
        place->changed == TG_EVENT_ALL_FIELDS)
        return false;
    moved[0] = rows->moved[0][from];
    if (rows->n_moving == TG_CHUNK_MOVING)
        moved[1] = rows->moved[1][from];
    for (uint32_t left = place->changed; left != 0; left &= left - 1) {
        uint32_t f = (uint32_t)__builtin_ctz(left), m = rows->moving[0] == f ? 0 : 1;
        if (m >= rows->n_moving || rows->moving[m] != f)
            return false;
        uint64_t number = number_of(payload, &kind->schema->fields[f]);
        bytes += (uint32_t)(tg_varint_bytes(number) - tg_varint_bytes(moved[m]));
        moved[m] = number;
    }
    rows->moved[0][made] = moved[0];
    if (rows->n_moving == TG_CHUNK_MOVING)
        rows->moved[1][made] = moved[1];
    rows->bases[made] = rows->bases[from];
    rows->n_variants = made + 1;
    place->row = made | TG_CHUNK_VARIANT;
    place->raw_bytes = bytes;
    place->changed = 0;
    return true;
}

/* PLACE becomes that of an event of the same thread and kind with another PAYLOAD, unless new strings or items come with it. */
static __attribute__((noinline)) bool change_place(struct tg_chunk_encoder *encoder,
                                                   struct tg_chunk_kind *kind, const void *payload,
                                                   struct tg_event_place *place)
{
    uint64_t numbers[TG_EVENT_MAX_FIELDS];
    if (vary_place(kind, payload, place))
        return true;
    const uint64_t *row = payload;
    if (!kind->is_plain || kind->signed_fields != 0) {
        row = numbers;
        if (!take_row(encoder, kind, payload, numbers))
            return false;
    }
    if (!tg_chunk_rows_have_room(&kind->rows) && !tg_chunk_rows_reserve(&kind->rows))
        return false;
    place->row = tg_chunk_rows_put(&kind->rows, row, kind->n_events);
    place->raw_bytes = (uint32_t)(tg_varint_bytes(kind->chunk_index - 1) + PLACE_THREAD_BYTES +
                                  tg_chunk_rows_bytes(&kind->rows, place->row));
    place->changed = 0;
    return true;
}

/* An event of PLACE, with the items of that, is appended. */
static bool append_with_items(struct tg_chunk_encoder *encoder, const struct tg_event *event,
                              const struct tg_event_place *place)
{
    struct tg_chunk_columns *columns = &encoder->tail.columns;
    struct tg_byte_buffer *items = &columns->kinds[place->kind].members[0].bytes;
    if (place->chunk != encoder->tail.chunk ||
        columns->n_list_items + place->n_items > TG_CHUNK_MAX_LIST_ITEMS ||
        !tg_byte_buffer_reserve(items, place->items_bytes + TG_CURSOR_PADDING) ||
        !tg_chunk_tail_append(&encoder->tail, place, event->time_ns))
        return false;
    tg_byte_buffer_put(items, items->data + place->items_at, place->items_bytes);
    columns->n_list_items += place->n_items;
    encoder->tail.last_is_repeatable = false; /* the caller has its place */
    return true;
}

bool tg_chunk_encoder_add_again(struct tg_chunk_encoder *encoder, const struct tg_event *event,
                                struct tg_event_place *place)
{
    struct tg_chunk_columns *columns = &encoder->tail.columns;
    if (place->changed == 0)
        return tg_chunk_tail_append(&encoder->tail, place, event->time_ns);
    if (place->changed != TG_EVENT_ALL_FIELDS && (place->changed & TG_EVENT_SAME_ITEMS) != 0)
        return place->changed == TG_EVENT_SAME_ITEMS && append_with_items(encoder, event, place);
    if (place->chunk != encoder->tail.chunk || !has_room_for_numbers(encoder))
        return false;
    struct tg_chunk_kind *kind = &columns->kinds[place->kind];
    const void *payload = TG_EVENT_PAYLOAD((struct tg_event *)(uintptr_t)event);
    return (vary_place_again(kind, payload, place) || change_place(encoder, kind, payload, place)) &&
           tg_chunk_tail_append(&encoder->tail, place, event->time_ns);
}

struct tg_chunk_tail *tg_chunk_encoder_tail(struct tg_chunk_encoder *encoder, size_t n_events,
                                            size_t raw_bytes)
{
    encoder->end_events = n_events < TG_CHUNK_MAX_EVENTS ? n_events : TG_CHUNK_MAX_EVENTS;
    uint64_t most_bytes = TG_SECTION_MAX_RAW_BYTES - encoder->numbers_bytes;
    encoder->tail.end_bytes = raw_bytes < most_bytes ? raw_bytes : most_bytes;
    limit_tail(encoder);
    return &encoder->tail;
}

size_t tg_chunk_encoder_count(const struct tg_chunk_encoder *encoder)
{
    return __atomic_load_n(&encoder->tail.columns.n_events, __ATOMIC_RELAXED);
}

bool tg_chunk_encoder_has(const struct tg_chunk_encoder *encoder, size_t n_events, size_t raw_bytes)
{
    return encoder->tail.columns.n_events >= n_events || encoder->tail.raw_bytes >= raw_bytes;
}

size_t tg_chunk_encoder_memory(const struct tg_chunk_encoder *encoder)
{
    size_t bytes =
        sizeof *encoder + tg_string_table_memory(&encoder->tail.columns.strings) +
        encoder->thread_capacity * sizeof *encoder->tail.columns.threads +
        encoder->n_thread_slots * sizeof *encoder->thread_slots +
        encoder->event_capacity *
            (sizeof *encoder->tail.columns.event_kinds + sizeof *encoder->tail.columns.event_threads +
             sizeof *encoder->tail.columns.event_rows + sizeof *encoder->tail.columns.event_times) +
        encoder->stop_capacity * sizeof *encoder->tail.columns.event_stops;
    for (size_t i = 0; i < encoder->tail.columns.n_kinds; i++) {
        const struct tg_chunk_kind *kind = &encoder->tail.columns.kinds[i];
        bytes += tg_chunk_rows_memory(&kind->rows);
        for (size_t m = 0; m < kind->n_members; m++)
            bytes += kind->members[m].bytes.capacity;
    }
    return bytes;
}

uint64_t tg_chunk_encoder_first_time(const struct tg_chunk_encoder *encoder)
{
    return encoder->tail.columns.first_time_ns;
}

uint64_t tg_chunk_encoder_last_time(const struct tg_chunk_encoder *encoder)
{
    return encoder->tail.last_time_ns;
}

const struct tg_chunk_columns *tg_chunk_encoder_columns(const struct tg_chunk_encoder *encoder)
{
    return &encoder->tail.columns;
}
