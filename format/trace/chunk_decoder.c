#include "format/trace/chunk_decoder.h"

#include "format/base/array.h"
#include "format/trace/chunk_directory.h"
#include "format/trace/section.h"
#include "format/trace/thread_order.h"
#include "format/trace/wire_type.h"

#include <stdio.h>
#include <stdlib.h>

/* Events are decoded column by column in blocks that stay in the processor's caches: tight loops without a
 * decision per event or field. */
enum { BLOCK = 128 };

/* Room that every payload has in an event, and what most need. */
enum {
    SMALL_ROW = 32,
    MEDIUM_ROW = 64,
    PAYLOAD_BYTES = sizeof(struct tg_event) - offsetof(struct tg_event, process_start)
};

struct list_buffer {
    char *items;
    size_t capacity;
};

/* State of the decoder for a kind of the chunk. */
struct kind_state {
    uint32_t count;  /* events in the current block */
    uint32_t first;  /* index of the first one in OFFSETS */
    uint64_t left;   /* events of the kind not decoded yet */
    bool unwanted;   /* events of the kind are passed over, except those with a stop */
    bool idle;       /* and none of them has one: nothing of the kind is decoded */
    char *rows;      /* payloads of a kind that is indexed or by thread */
    size_t capacity; /* of ROWS, in bytes */
    uint64_t items_left[TG_EVENT_MAX_FIELDS];
    struct list_buffer lists[TG_EVENT_MAX_FIELDS]; /* items of the current block's events */
};

struct tg_chunk_decoder {
    const struct tg_byte_source *source;
    struct tg_chunk_directory directory;
    struct tg_wanted_kinds wanted;
    struct tg_kind_set present; /* the kinds of the chunk */
    bool any_unwanted;          /* of these */
    struct kind_state *kinds;   /* by kind of the chunk; all zero where new, the memory stays */
    size_t kind_capacity;
    uint64_t threads_seen;
    uint64_t previous_time_ns;    /* of chunks by thread: the end of the stop before */
    struct tg_thread_order order; /* of chunks by thread */
    struct {                      /* likewise, by kind */
        const char *base;
        size_t stride;
        enum tg_event_kind kind;
    } rows[TG_CHUNK_MAX_KINDS];
    size_t max_row_bytes;
    bool any_as_recorded; /* some kinds of the chunk have no rows, or are not known */
    uint32_t n_taken;
    uint32_t n_left;      /* events not decoded yet */
    uint32_t *item_bytes; /* text of each item of a list */
    size_t item_capacity;
    uint64_t values[BLOCK];
    uint16_t block_kinds[BLOCK];
    uint32_t offsets[BLOCK]; /* byte offset in EVENTS of each event, those of one kind together */
    struct tg_event events[BLOCK];
};

struct tg_error *tg_chunk_decoder_create(struct tg_chunk_decoder **decoder)
{
    struct tg_chunk_decoder *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    *decoder = created;
    return NULL;
}

void tg_chunk_decoder_destroy(struct tg_chunk_decoder *decoder)
{
    if (decoder == NULL)
        return;
    tg_chunk_directory_deinit(&decoder->directory);
    tg_thread_order_deinit(&decoder->order);
    for (size_t i = 0; i < decoder->kind_capacity; i++) {
        free(decoder->kinds[i].rows);
        for (size_t f = 0; f < TG_EVENT_MAX_FIELDS; f++)
            free(decoder->kinds[i].lists[f].items);
    }
    free(decoder->kinds);
    free(decoder->item_bytes);
    free(decoder);
}

static struct tg_error *value_error(const struct tg_chunk_decoder *decoder,
                                    const struct tg_packed_column *column, const char *record,
                                    const char *field, const char *member)
{
    return tg_chunk_column_error(column, decoder->source, record, field, member);
}

/* Destination of value I of a loop: the two shapes are inlined apart. */
static inline char *place(char *base, const uint32_t *offsets, size_t stride, size_t i)
{
    return base + (offsets != NULL ? offsets[i] : i * stride);
}

static inline void store(char *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

/* False where an id is that of no string. */
static inline bool store_strings(const struct tg_chunk_decoder *decoder, const uint64_t *values, char *base,
                                 const uint32_t *offsets, size_t stride, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (__builtin_expect(values[i] > decoder->directory.n_strings, 0))
            return false;
        const char *text = decoder->directory.strings[values[i]];
        memcpy(place(base, offsets, stride, i), &text, sizeof text);
    }
    return true;
}

/* Value I of [values, values + n), read as TYPE, goes to BASE + offsets[I], or without OFFSETS to BASE + I *
 * STRIDE. */
static inline bool store_values(const struct tg_chunk_decoder *decoder, enum tg_wire_type type,
                                const uint64_t *values, char *base, const uint32_t *offsets, size_t stride,
                                size_t n)
{
    switch (type) {
    case TG_WIRE_STRING:
        return store_strings(decoder, values, base, offsets, stride, n);
    case TG_WIRE_SIGNED:
        for (size_t i = 0; i < n; i++)
            store(place(base, offsets, stride, i), tg_unzigzag(values[i]));
        return true;
    case TG_WIRE_ADDRESS:
    case TG_WIRE_UNSIGNED:
    case TG_WIRE_LIST:
        break;
    }
    for (size_t i = 0; i < n; i++)
        store(place(base, offsets, stride, i), values[i]);
    return true;
}

/* N values of a column to where the events of the block with these OFFSETS have the field at BASE. */
static bool decode_scattered(struct tg_chunk_decoder *decoder, struct tg_packed_column *column,
                             enum tg_wire_type type, char *base, const uint32_t *offsets, size_t n)
{
    return tg_packed_column_take(column, decoder->values, n) &&
           store_values(decoder, type, decoder->values, base, offsets, 0, n);
}

/* N values of a column to BASE, BASE + STRIDE, ... */
static bool decode_strided(struct tg_chunk_decoder *decoder, struct tg_packed_column *column,
                           enum tg_wire_type type, char *base, size_t stride, size_t n)
{
    while (n > 0) {
        size_t part = n < BLOCK ? n : BLOCK;
        if (!tg_packed_column_take(column, decoder->values, part) ||
            !store_values(decoder, type, decoder->values, base, NULL, stride, part))
            return false;
        base += part * stride;
        n -= part;
    }
    return true;
}

/* N values of field F to BASE, BASE + STRIDE, ..., of a kind all of whose lists are empty. */
static struct tg_error *decode_row_field(struct tg_chunk_decoder *decoder, struct tg_chunk_kind_entry *kind,
                                         size_t f, char *base, size_t stride, size_t n)
{
    const struct tg_field *field = &kind->schema->fields[f];
    struct tg_packed_column *column = &kind->fields[f].column;
    bool fine = decode_strided(decoder, column, tg_wire_type(field->type), base, stride, n);
    for (size_t i = 0; field->type == TG_FIELD_LIST && i < n; i++) {
        struct tg_list *list = (struct tg_list *)(base + i * stride);
        uint64_t count;
        memcpy(&count, list, sizeof count); /* as decode_strided left it */
        fine = fine && count == 0;
        *list = (struct tg_list){0};
    }
    return fine ? NULL : value_error(decoder, column, kind->schema->name, field->name, "");
}

/* Rows [AT, AT + N) of a kind, which stay in the processor's caches. Many fields have one value in all of
 * them: the first row has these, and is copied before the others are decoded. */
static struct tg_error *decode_row_block(struct tg_chunk_decoder *decoder, struct tg_chunk_kind_entry *kind,
                                         char *rows, size_t n)
{
    const struct tg_record_schema *schema = kind->schema;
    size_t stride = schema->size_bytes;
    bool varies[TG_EVENT_MAX_FIELDS];
    struct tg_error *error = NULL;
    for (size_t f = 0; error == NULL && f < schema->n_fields; f++) {
        struct tg_packed_column *column = &kind->fields[f].column;
        varies[f] = !tg_packed_column_skip(column, n);
        if (!varies[f])
            error = decode_row_field(decoder, kind, f, rows + schema->fields[f].offset, stride, 1);
    }
    for (size_t filled = 1, part; filled < n; filled += part) {
        part = filled < n - filled ? filled : n - filled;
        memcpy(rows + filled * stride, rows, part * stride);
    }
    for (size_t f = 0; error == NULL && f < schema->n_fields; f++)
        if (varies[f])
            error = decode_row_field(decoder, kind, f, rows + schema->fields[f].offset, stride, n);
    return error;
}

/* All rows of a kind, once for the chunk. */
static struct tg_error *decode_rows(struct tg_chunk_decoder *decoder, struct tg_chunk_kind_entry *kind,
                                    struct kind_state *state)
{
    size_t stride = kind->schema->size_bytes;
    /* Rows are copied with more bytes than the last of them has. */
    struct tg_error *error =
        TG_ARRAY_RESERVE(state->rows, state->capacity, kind->n_rows * stride + PAYLOAD_BYTES);
    for (uint64_t at = 0; error == NULL && at < kind->n_rows; at += BLOCK) {
        size_t n = kind->n_rows - at < BLOCK ? (size_t)(kind->n_rows - at) : BLOCK;
        error = decode_row_block(decoder, kind, state->rows + at * stride, n);
    }
    return error;
}

/* Prepares the first block of a chunk by thread. */
static struct tg_error *begin_by_thread(struct tg_chunk_decoder *decoder, uint32_t n_events)
{
    struct tg_chunk_directory *directory = &decoder->directory;
    static const char no_row[PAYLOAD_BYTES];
    decoder->any_as_recorded = false;
    decoder->max_row_bytes = 0;
    for (size_t i = 0; i < directory->n_kinds; i++) {
        const struct tg_chunk_kind_entry *kind = directory->kinds[i];
        bool has_rows = kind->schema != NULL && kind->by_thread && !decoder->kinds[i].idle;
        decoder->rows[i].base = has_rows ? decoder->kinds[i].rows : no_row;
        decoder->rows[i].stride = has_rows ? kind->schema->size_bytes : 0;
        if (decoder->rows[i].stride > decoder->max_row_bytes)
            decoder->max_row_bytes = decoder->rows[i].stride;
        decoder->rows[i].kind = (enum tg_event_kind)kind->number;
        decoder->any_as_recorded = decoder->any_as_recorded || kind->schema == NULL || !kind->by_thread;
    }
    return tg_thread_order_read(&decoder->order, directory, decoder->source, n_events);
}

void tg_chunk_decoder_want(struct tg_chunk_decoder *decoder, struct tg_wanted_kinds wanted)
{
    decoder->wanted = wanted;
}

struct tg_kind_set tg_chunk_decoder_kinds(const struct tg_chunk_decoder *decoder)
{
    return decoder->present;
}

/* The kinds of a chunk of which no column was read yet. */
static struct tg_kind_set find_kinds(const struct tg_chunk_directory *directory)
{
    struct tg_kind_set set = {.is_known = true,
                              .any_stop = !directory->by_thread &&
                                          !tg_packed_column_is_zero(&directory->common[TG_COMMON_STOP])};
    for (size_t i = 0; i < directory->n_kinds; i++) {
        const struct tg_chunk_kind_entry *kind = directory->kinds[i];
        tg_kind_set_add(&set, kind->number);
        set.any_stop = set.any_stop || (directory->by_thread && !tg_packed_column_is_zero(&kind->stop));
    }
    return set;
}

/* Finds the kinds of the chunk whose events are passed over; false where none of the others has any. */
static bool choose_kinds(struct tg_chunk_decoder *decoder)
{
    const struct tg_chunk_directory *directory = &decoder->directory;
    bool any_stop = !tg_packed_column_is_zero(&directory->common[TG_COMMON_STOP]);
    bool any_wanted = false;
    decoder->any_unwanted = false;
    for (size_t i = 0; i < directory->n_kinds; i++) {
        const struct tg_chunk_kind_entry *kind = directory->kinds[i];
        struct kind_state *state = &decoder->kinds[i];
        state->unwanted = kind->schema != NULL && !tg_wanted_kinds_has(&decoder->wanted, kind->number);
        state->idle =
            state->unwanted && (directory->by_thread ? tg_packed_column_is_zero(&kind->stop) : !any_stop);
        decoder->any_unwanted = decoder->any_unwanted || state->unwanted;
        any_wanted = any_wanted || (!state->idle && kind->n_events > 0);
    }
    return any_wanted || decoder->wanted.wants == NULL;
}

struct tg_error *tg_chunk_decoder_begin(struct tg_chunk_decoder *decoder, const struct tg_byte_source *source,
                                        size_t size, const struct tg_section_header *header)
{
    struct tg_byte_cursor cursor = {source->start, source->start + size, source};
    struct tg_chunk_directory *directory = &decoder->directory;
    decoder->source = source;
    decoder->n_left = 0;
    decoder->threads_seen = 0;
    decoder->previous_time_ns = header->first_time_ns;
    decoder->n_taken = 0;
    size_t before = decoder->kind_capacity;
    struct tg_error *error = tg_chunk_directory_read(directory, &cursor, header->n_events,
                                                     (header->flags & TG_SECTION_BY_THREAD) != 0);
    if (error == NULL)
        error = TG_ARRAY_RESERVE(decoder->kinds, decoder->kind_capacity, directory->n_kinds);
    if (decoder->kind_capacity > before)
        memset(&decoder->kinds[before], 0, (decoder->kind_capacity - before) * sizeof *decoder->kinds);
    if (error != NULL)
        return error;
    decoder->present = find_kinds(directory);
    if (!choose_kinds(decoder))
        return NULL;
    for (size_t i = 0; error == NULL && i < directory->n_kinds; i++) {
        struct tg_chunk_kind_entry *kind = directory->kinds[i];
        decoder->kinds[i].left = kind->n_events;
        for (size_t f = 0; f < TG_EVENT_MAX_FIELDS; f++)
            decoder->kinds[i].items_left[f] = kind->fields[f].n_items;
        if ((kind->indexed || kind->by_thread) && kind->schema != NULL && !decoder->kinds[i].idle)
            error = decode_rows(decoder, kind, &decoder->kinds[i]);
    }
    if (error == NULL && directory->by_thread)
        error = begin_by_thread(decoder, header->n_events);
    if (error == NULL)
        decoder->n_left = header->n_events;
    return error;
}

/* A string of each of N items, as decode_strided; its length is added to the item's text. */
static bool decode_item_strings(struct tg_chunk_decoder *decoder, struct tg_packed_column *column, char *base,
                                size_t stride, size_t n)
{
    uint32_t *item_bytes = decoder->item_bytes;
    while (n > 0) {
        size_t part = n < BLOCK ? n : BLOCK;
        if (!tg_packed_column_take(column, decoder->values, part) ||
            !store_strings(decoder, decoder->values, base, NULL, stride, part))
            return false;
        for (size_t i = 0; i < part; i++)
            item_bytes[i] += decoder->directory.string_bytes[decoder->values[i]];
        item_bytes += part;
        base += part * stride;
        n -= part;
    }
    return true;
}

/* Room for the lengths of TOTAL items, which have none yet. */
static struct tg_error *begin_item_bytes(struct tg_chunk_decoder *decoder, uint64_t total)
{
    struct tg_error *error = TG_ARRAY_RESERVE(decoder->item_bytes, decoder->item_capacity, total);
    if (error == NULL && total > 0)
        memset(decoder->item_bytes, 0, total * sizeof *decoder->item_bytes);
    return error;
}

/* Whether COUNT items from AT on have no more text than an event may have: a few bytes that are one string a
 * million times would be printed as terabytes. */
static bool is_text_bounded(const struct tg_chunk_decoder *decoder, uint64_t at, uint64_t count)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++)
        bytes += decoder->item_bytes[at + i];
    return bytes <= TG_EVENT_MAX_TEXT_BYTES;
}

/* The counts are in the lists already; gives each list its items. BASE: where events have the list. */
static struct tg_error *decode_items(struct tg_chunk_decoder *decoder, struct tg_chunk_kind_entry *kind,
                                     struct kind_state *state, size_t f, char *base)
{
    struct tg_chunk_field *field = &kind->fields[f];
    const struct tg_record_schema *element = field->schema->element;
    struct list_buffer *buffer = &state->lists[f];
    const uint32_t *offsets = &decoder->offsets[state->first];
    uint64_t total = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        uint64_t count = ((const struct tg_list *)(base + offsets[i]))->count;
        if (count > state->items_left[f] - total)
            return value_error(decoder, &field->column, kind->schema->name, field->schema->name, "count");
        total += count;
    }
    state->items_left[f] -= total;
    struct tg_error *error = TG_ARRAY_RESERVE(buffer->items, buffer->capacity, total * element->size_bytes);
    if (error == NULL)
        error = begin_item_bytes(decoder, total);
    for (size_t m = 0; error == NULL && total > 0 && m < element->n_fields; m++) {
        const struct tg_field *member = &element->fields[m];
        bool is_text = member->type == TG_FIELD_STRING;
        if (is_text ? !decode_item_strings(decoder, &field->members[m], buffer->items + member->offset,
                                           element->size_bytes, total)
                    : !decode_strided(decoder, &field->members[m], tg_wire_type(member->type),
                                      buffer->items + member->offset, element->size_bytes, total))
            error = value_error(decoder, &field->members[m], kind->schema->name, field->schema->name,
                                member->name);
    }
    uint64_t at = 0;
    for (uint32_t i = 0; error == NULL && i < state->count; i++) {
        struct tg_list *list = (struct tg_list *)(base + offsets[i]);
        list->items = list->count == 0 ? NULL : buffer->items + at * element->size_bytes;
        if (!is_text_bounded(decoder, at, list->count))
            error = value_error(decoder, &field->column, kind->schema->name, field->schema->name, "text");
        at += list->count;
    }
    return error;
}

static struct tg_error *copy_rows(struct tg_chunk_decoder *decoder, struct tg_chunk_kind_entry *kind,
                                  struct kind_state *state, char *payload)
{
    const uint32_t *offsets = &decoder->offsets[state->first];
    size_t size = kind->schema->size_bytes;
    if (!tg_packed_column_take(&kind->index, decoder->values, state->count))
        return value_error(decoder, &kind->index, kind->schema->name, "row index", "");
    for (uint32_t i = 0; i < state->count; i++) {
        if (__builtin_expect(decoder->values[i] >= kind->n_rows, 0))
            return value_error(decoder, &kind->index, kind->schema->name, "row index", "");
        const char *row = state->rows + decoder->values[i] * size;
        char *to = payload + offsets[i];
        for (size_t b = 0; b < size; b += sizeof(uint64_t)) /* payloads are of whole words */
            memcpy(to + b, row + b, sizeof(uint64_t));
    }
    return NULL;
}

static struct tg_error *decode_kind(struct tg_chunk_decoder *decoder, struct tg_chunk_kind_entry *kind,
                                    struct kind_state *state)
{
    const struct tg_record_schema *schema = kind->schema;
    const uint32_t *offsets = &decoder->offsets[state->first];
    char *payload = (char *)decoder->events + offsetof(struct tg_event, process_start);
    if (kind->indexed)
        return copy_rows(decoder, kind, state, payload);
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        bool is_list = field->type == TG_FIELD_LIST;
        char *base = payload + field->offset;
        struct tg_packed_column *column = &kind->fields[f].column;
        if (!decode_scattered(decoder, column, tg_wire_type(field->type),
                              base + (is_list ? offsetof(struct tg_list, count) : 0), offsets, state->count))
            return value_error(decoder, column, schema->name, field->name, "");
        struct tg_error *error = is_list ? decode_items(decoder, kind, state, f, base) : NULL;
        if (error != NULL)
            return error;
    }
    return NULL;
}

/* Sorts the block's N events, whose kinds are known, by kind. */
static struct tg_error *group_by_kind(struct tg_chunk_decoder *decoder, uint32_t n)
{
    const struct tg_chunk_directory *directory = &decoder->directory;
    for (size_t i = 0; i < directory->n_kinds; i++)
        decoder->kinds[i].count = 0;
    for (uint32_t i = 0; i < n; i++)
        decoder->kinds[decoder->block_kinds[i]].count++;
    uint32_t next = 0;
    for (size_t i = 0; i < directory->n_kinds; i++) {
        struct kind_state *state = &decoder->kinds[i];
        if (state->count > state->left)
            return value_error(decoder, &directory->common[TG_COMMON_KIND], "", "kind", "");
        state->left -= state->count;
        state->first = next;
        next += state->count;
        state->count = 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct kind_state *state = &decoder->kinds[decoder->block_kinds[i]];
        decoder->offsets[state->first + state->count++] = i * (uint32_t)sizeof(struct tg_event);
    }
    return NULL;
}

static struct tg_error *decode_kinds(struct tg_chunk_decoder *decoder, uint32_t n)
{
    const struct tg_chunk_directory *directory = &decoder->directory;
    struct tg_packed_column *column = &decoder->directory.common[TG_COMMON_KIND];
    if (!tg_packed_column_take(column, decoder->values, n))
        return value_error(decoder, column, "", "kind", "");
    for (uint32_t i = 0; i < n; i++) {
        if (decoder->values[i] >= directory->n_kinds)
            return value_error(decoder, column, "", "kind", "");
        decoder->block_kinds[i] = (uint16_t)decoder->values[i];
        decoder->events[i].kind = (enum tg_event_kind)directory->kinds[decoder->block_kinds[i]]->number;
    }
    return group_by_kind(decoder, n);
}

/* Everything of the block's N events that is in the order of threads. Rows of most kinds have no more than USUAL_BYTES,
 * and none of the chunk has more than MOST_BYTES. */
static inline void take_in_order(struct tg_chunk_decoder *decoder, uint32_t n, size_t usual_bytes,
                                 size_t most_bytes)
{
    const struct tg_chunk_thread *threads = decoder->directory.threads;
    const struct tg_thread_order *order = &decoder->order;
    const uint32_t *thread_of = order->threads + decoder->n_taken, *slots = order->slots;
    uint32_t *positions = order->positions, n_slots = (uint32_t)order->n_slots;
    const uint64_t *stops_ns = order->any_stop ? order->stops_ns : NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct tg_event *event = &decoder->events[i];
        uint32_t thread = thread_of[i], position = positions[thread]++;
        uint32_t slot = slots[position], kind = TG_SLOT_KIND(slot);
        event->stop_ns = stops_ns != NULL ? stops_ns[position] : 0;
        event->pid = threads[thread].pid;
        event->tid = threads[thread].tid;
        event->kind = decoder->rows[kind].kind;
        decoder->block_kinds[i] = (uint16_t)kind;
        char *payload = TG_EVENT_PAYLOAD(event);
        const char *row = decoder->rows[kind].base + TG_SLOT_ROW(slot) * decoder->rows[kind].stride;
        memcpy(payload, row, usual_bytes);
        if (most_bytes > usual_bytes && decoder->rows[kind].stride > usual_bytes)
            memcpy(payload + usual_bytes, row + usual_bytes, most_bytes - usual_bytes);
        if (position + 1 < n_slots) { /* of the same thread's next event, which another processor may have */
            uint32_t next = slots[position + 1], next_kind = TG_SLOT_KIND(next);
            const char *next_row =
                decoder->rows[next_kind].base + TG_SLOT_ROW(next) * decoder->rows[next_kind].stride;
            __builtin_prefetch(next_row);
            __builtin_prefetch(next_row + usual_bytes - 1);
        }
    }
    decoder->n_taken += n;
}

static struct tg_error *decode_times(struct tg_chunk_decoder *decoder, uint32_t n)
{
    struct tg_packed_column *times = &decoder->directory.common[TG_COMMON_TIME];
    unsigned shift = decoder->directory.units.time_shift;
    if (!tg_packed_column_take(times, decoder->values, n))
        return value_error(decoder, times, "", "t_ns", "");
    uint64_t end_ns = decoder->previous_time_ns;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t time_ns = end_ns + (decoder->values[i] << shift);
        decoder->events[i].time_ns = time_ns;
        end_ns = time_ns + decoder->events[i].stop_ns;
    }
    decoder->previous_time_ns = end_ns;
    return NULL;
}

static struct tg_error *decode_threads(struct tg_chunk_decoder *decoder, uint32_t n)
{
    const struct tg_chunk_directory *directory = &decoder->directory;
    struct tg_packed_column *column = &decoder->directory.common[TG_COMMON_THREAD];
    if (!tg_packed_column_take(column, decoder->values, n))
        return value_error(decoder, column, "", "thread", "");
    uint64_t seen = decoder->threads_seen;
    for (uint32_t i = 0; i < n; i++) {
        /* 0 is the next thread of the table, D the one that came D before it. */
        uint64_t back = decoder->values[i], index = seen - back;
        seen += back == 0;
        if (back > seen || index >= directory->n_threads)
            return value_error(decoder, column, "", "thread", "");
        decoder->events[i].pid = directory->threads[index].pid;
        decoder->events[i].tid = directory->threads[index].tid;
    }
    decoder->threads_seen = seen;
    return NULL;
}

static struct tg_error *decode_common(struct tg_chunk_decoder *decoder, uint32_t n)
{
    struct tg_packed_column *times = &decoder->directory.common[TG_COMMON_TIME];
    struct tg_packed_column *stops = &decoder->directory.common[TG_COMMON_STOP];
    struct tg_error *error = decode_threads(decoder, n);
    if (error != NULL)
        return error;
    if (!tg_packed_column_take(times, decoder->values, n))
        return value_error(decoder, times, "", "t_ns", "");
    uint64_t time_ns = decoder->previous_time_ns;
    for (uint32_t i = 0; i < n; i++) {
        time_ns += tg_unzigzag(decoder->values[i]);
        decoder->events[i].time_ns = time_ns;
    }
    decoder->previous_time_ns = time_ns;
    if (!tg_packed_column_take(stops, decoder->values, n))
        return value_error(decoder, stops, "", "stop_ns", "");
    for (uint32_t i = 0; i < n; i++)
        decoder->events[i].stop_ns = decoder->values[i];
    return NULL;
}

/* After the last event no item may be left. That no other value is left follows from the columns' counts. */
static struct tg_error *check_ends(const struct tg_chunk_decoder *decoder)
{
    for (size_t i = 0; i < decoder->directory.n_kinds; i++) {
        const struct tg_chunk_kind_entry *kind = decoder->directory.kinds[i];
        for (size_t f = 0; kind->schema != NULL && !decoder->kinds[i].idle && f < kind->schema->n_fields; f++)
            if (decoder->kinds[i].items_left[f] != 0)
                return value_error(decoder, &kind->fields[f].column, kind->schema->name,
                                   kind->schema->fields[f].name, "count");
    }
    return NULL;
}

/* Takes the events of unknown and of unwanted kinds out of the block; returns how many stay. */
static size_t drop_some(struct tg_chunk_decoder *decoder, uint32_t n, uint64_t *unknown)
{
    size_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        unsigned kind = decoder->block_kinds[i];
        bool is_unknown = decoder->directory.kinds[kind]->schema == NULL;
        *unknown += is_unknown;
        if (is_unknown || (decoder->kinds[kind].unwanted && decoder->events[i].stop_ns == 0))
            continue;
        if (kept != i)
            decoder->events[kept] = decoder->events[i];
        kept++;
    }
    return kept;
}

static struct tg_error *decode_block(struct tg_chunk_decoder *decoder, uint32_t n, bool *any_unknown)
{
    struct tg_error *error = NULL;
    bool by_thread = decoder->directory.by_thread;
    if (by_thread) {
        if (decoder->max_row_bytes <= SMALL_ROW) /* a size that is known makes the copies quick */
            take_in_order(decoder, n, SMALL_ROW, SMALL_ROW);
        else if (decoder->max_row_bytes <= MEDIUM_ROW)
            take_in_order(decoder, n, MEDIUM_ROW, MEDIUM_ROW);
        else
            take_in_order(decoder, n, MEDIUM_ROW, PAYLOAD_BYTES);
        error = decode_times(decoder, n);
        if (error != NULL || !decoder->any_as_recorded)
            return error;
        error = group_by_kind(decoder, n);
    } else {
        error = decode_kinds(decoder, n);
        if (error == NULL)
            error = decode_common(decoder, n);
    }
    for (size_t i = 0; error == NULL && i < decoder->directory.n_kinds; i++) {
        struct tg_chunk_kind_entry *kind = decoder->directory.kinds[i];
        if (decoder->kinds[i].count == 0 || decoder->kinds[i].idle ||
            (kind->by_thread && kind->schema != NULL))
            continue;
        if (kind->schema != NULL)
            error = decode_kind(decoder, kind, &decoder->kinds[i]);
        else
            *any_unknown = true;
    }
    return error;
}

struct tg_error *tg_chunk_decoder_block(struct tg_chunk_decoder *decoder, const struct tg_event **events,
                                        size_t *count, uint64_t *unknown)
{
    size_t kept = 0;
    while (kept == 0 && decoder->n_left > 0) {
        uint32_t n = decoder->n_left < BLOCK ? decoder->n_left : BLOCK;
        bool any_unknown = false;
        struct tg_error *error = decode_block(decoder, n, &any_unknown);
        decoder->n_left -= n;
        if (error == NULL && decoder->n_left == 0)
            error = check_ends(decoder);
        if (error != NULL) {
            decoder->n_left = 0;
            return error;
        }
        kept = any_unknown || decoder->any_unwanted ? drop_some(decoder, n, unknown) : n;
    }
    *events = decoder->events;
    *count = kept;
    return NULL;
}
