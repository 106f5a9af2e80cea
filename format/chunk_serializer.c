/* From the encoder's columns to the payload of an EVENTS section. */
#include "format/chunk_columns.h"

#include "format/byte_cursor.h"
#include "format/packed_column.h"
#include "format/trace_section.h"
#include "format/wire_type.h"

#include <stdlib.h>

enum {
    MAX_ROWS = 4096,    /* payloads that are stored once each; more of them are not worth an index */
    MIN_REPETITION = 4, /* events for each of them, at least */
    ROW_SLOTS = 4 * MAX_ROWS,
};

/* What serialize writes to; a failed allocation sticks. */
struct output {
    const struct tg_chunk_encoder *encoder;
    struct tg_byte_buffer *payload;
    struct tg_byte_buffer *boundaries;
    uint64_t *values; /* room for all events, or all list items, of the chunk */
    uint64_t *fields; /* room for the fields of all events of a kind, one field after the other */
    size_t field_capacity;
    uint32_t *row_of_event;
    uint32_t row_events[MAX_ROWS]; /* the first event with each row */
    uint32_t row_slots[ROW_SLOTS]; /* row + 1; 0: free */
    bool failed;
};

static void write_varint(struct output *output, uint64_t value)
{
    if (output->failed || !tg_byte_buffer_reserve(output->payload, TG_VARINT_MAX_BYTES))
        output->failed = true;
    else
        tg_byte_buffer_put_varint(output->payload, value);
}

static void write_values(struct output *output, const uint64_t *values, size_t n)
{
    if (!output->failed && !tg_packed_column_write(output->payload, output->boundaries, values, n))
        output->failed = true;
}

/* Addresses become differences in place. */
static void write_field(struct output *output, enum tg_wire_type type, uint64_t *values, size_t n)
{
    uint64_t previous = 0;
    for (size_t i = 0; type == TG_WIRE_ADDRESS && i < n; i++) {
        uint64_t value = values[i];
        values[i] = tg_zigzag(value - previous);
        previous = value;
    }
    write_values(output, values, n);
}

/* The values of COLUMN, all of them; returns their number. */
static size_t read_column(const struct tg_chunk_column *column, uint64_t *values)
{
    if (column->bytes.size == 0)
        return 0;
    const uint8_t *position = column->bytes.data, *end = position + column->bytes.size;
    size_t n = 0;
    while (position < end)
        position = tg_varint_get(position, end, &values[n++]);
    return n;
}

static void write_column(struct output *output, const struct tg_chunk_column *column, enum tg_wire_type type)
{
    write_field(output, type, output->values, read_column(column, output->values));
}

static void write_strings(struct output *output)
{
    const struct tg_string_table *strings = &output->encoder->strings;
    write_varint(output, strings->count);
    write_varint(output, strings->text.size);
    size_t offset = output->payload->size;
    if (output->failed || !tg_byte_buffer_reserve(output->payload, strings->text.size) ||
        !tg_byte_buffer_reserve(output->boundaries, 2 * sizeof offset)) {
        output->failed = true;
        return;
    }
    tg_byte_buffer_put(output->boundaries, &offset, sizeof offset);
    tg_byte_buffer_put(output->payload, strings->text.data, strings->text.size);
    offset = output->payload->size;
    tg_byte_buffer_put(output->boundaries, &offset, sizeof offset);
}

/* The high or the low half of each thread's key, against the one before. */
static void write_thread_ids(struct output *output, unsigned shift)
{
    uint64_t previous = 0;
    for (uint32_t i = 0; i < output->encoder->n_threads; i++) {
        uint64_t id = (uint64_t)(int32_t)(uint32_t)(output->encoder->threads[i] >> shift);
        output->values[i] = tg_zigzag(id - previous);
        previous = id;
    }
    write_values(output, output->values, output->encoder->n_threads);
}

/* Times are stored against the one before, the first against the header's first time. */
static void write_times(struct output *output)
{
    size_t n = read_column(&output->encoder->time_column, output->values);
    if (n > 0)
        output->values[0] = tg_zigzag(tg_unzigzag(output->values[0]) - output->encoder->first_time_ns);
    write_values(output, output->values, n);
}

/* Reads the fields of all events of a kind without lists. */
static bool read_fields(struct output *output, const struct tg_chunk_kind *kind)
{
    size_t needed = (size_t)kind->n_events * kind->n_columns;
    if (needed > output->field_capacity) {
        uint64_t *fields = realloc(output->fields, needed * sizeof *fields);
        if (fields == NULL) {
            output->failed = true;
            return false;
        }
        output->fields = fields;
        output->field_capacity = needed;
    }
    for (size_t c = 0; c < kind->n_columns; c++)
        read_column(&kind->columns[c], output->fields + c * kind->n_events);
    return true;
}

static bool rows_equal(const struct output *output, const struct tg_chunk_kind *kind, size_t a, size_t b)
{
    for (size_t c = 0; c < kind->n_columns; c++)
        if (output->fields[c * kind->n_events + a] != output->fields[c * kind->n_events + b])
            return false;
    return true;
}

/* Gives every event of the kind the number of its payload among the different ones; returns how many these
 * are, 0 where they are too many. */
static uint32_t find_rows(struct output *output, const struct tg_chunk_kind *kind)
{
    uint32_t n_rows = 0, limit = kind->n_events / MIN_REPETITION;
    if (limit > MAX_ROWS)
        limit = MAX_ROWS;
    memset(output->row_slots, 0, sizeof output->row_slots);
    for (uint32_t i = 0; i < kind->n_events; i++) {
        uint64_t hash = 0;
        for (size_t c = 0; c < kind->n_columns; c++)
            hash =
                (hash ^ output->fields[c * kind->n_events + i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
        uint32_t slot = (uint32_t)(hash >> 32) % ROW_SLOTS;
        while (output->row_slots[slot] != 0 &&
               !rows_equal(output, kind, i, output->row_events[output->row_slots[slot] - 1]))
            slot = (slot + 1) % ROW_SLOTS;
        if (output->row_slots[slot] == 0) {
            if (n_rows == limit)
                return 0;
            output->row_events[n_rows] = i;
            output->row_slots[slot] = ++n_rows;
        }
        output->row_of_event[i] = output->row_slots[slot] - 1;
    }
    return n_rows;
}

static bool has_list(const struct tg_record_schema *schema)
{
    for (size_t f = 0; f < schema->n_fields; f++)
        if (schema->fields[f].type == TG_FIELD_LIST)
            return true;
    return false;
}

static size_t count_items(const struct output *output, const struct tg_chunk_column *counts)
{
    size_t n = read_column(counts, output->values), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += output->values[i];
    return sum;
}

static void write_kind_entry(struct output *output, const struct tg_chunk_kind *kind, uint32_t n_rows)
{
    write_varint(output, kind->number);
    write_varint(output, kind->n_events);
    write_varint(output, n_rows);
    write_varint(output, kind->schema->n_fields);
    const struct tg_chunk_column *column = kind->columns;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_varint(output, tg_wire_type(field->type));
        if (field->type == TG_FIELD_LIST) {
            write_varint(output, count_items(output, column));
            write_varint(output, field->element->n_fields);
            for (size_t e = 0; e < field->element->n_fields; e++)
                write_varint(output, tg_wire_type(field->element->fields[e].type));
        }
        column += tg_field_columns(field);
    }
}

static void write_rows(struct output *output, const struct tg_chunk_kind *kind, uint32_t n_rows)
{
    for (uint32_t i = 0; i < kind->n_events; i++)
        output->values[i] = output->row_of_event[i];
    write_values(output, output->values, kind->n_events);
    for (size_t c = 0; c < kind->n_columns; c++) { /* no lists: as many columns as fields */
        for (uint32_t r = 0; r < n_rows; r++)
            output->values[r] = output->fields[c * kind->n_events + output->row_events[r]];
        write_field(output, tg_wire_type(kind->schema->fields[c].type), output->values, n_rows);
    }
}

static void write_columns(struct output *output, const struct tg_chunk_kind *kind)
{
    const struct tg_chunk_column *column = kind->columns;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_column(output, column++, tg_wire_type(field->type));
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_column(output, column++, tg_wire_type(field->element->fields[e].type));
    }
}

/* Entry and columns stand together, so that a kind is decided on once. */
static void write_kind(struct output *output, const struct tg_chunk_kind *kind)
{
    uint32_t n_rows = 0;
    if (kind->n_events >= 2 * MIN_REPETITION && !has_list(kind->schema) && read_fields(output, kind))
        n_rows = find_rows(output, kind);
    write_kind_entry(output, kind, n_rows == 0 ? kind->n_events : n_rows);
    if (n_rows == 0)
        write_columns(output, kind);
    else
        write_rows(output, kind, n_rows);
}

struct tg_error *tg_chunk_encoder_serialize(const struct tg_chunk_encoder *encoder,
                                            struct tg_byte_buffer *payload, struct tg_byte_buffer *boundaries)
{
    struct output *output = malloc(sizeof *output);
    if (output == NULL)
        return tg_error_no_memory();
    size_t n = encoder->n_events > encoder->n_list_items ? encoder->n_events : encoder->n_list_items;
    output->encoder = encoder;
    output->payload = payload;
    output->boundaries = boundaries;
    output->values = malloc((n + 1) * sizeof *output->values);
    output->row_of_event = malloc((encoder->n_events + 1) * sizeof *output->row_of_event);
    output->fields = NULL;
    output->field_capacity = 0;
    output->failed = output->values == NULL || output->row_of_event == NULL;
    payload->size = boundaries->size = 0;
    if (!output->failed) {
        write_strings(output);
        write_varint(output, encoder->n_threads);
        write_thread_ids(output, 32);
        write_thread_ids(output, 0);
        write_varint(output, encoder->n_kinds_used);
        for (uint32_t i = 0; i < encoder->n_kinds_used; i++)
            write_kind(output, &encoder->kinds[encoder->kinds_used[i]]);
        write_column(output, &encoder->kind_column, TG_WIRE_UNSIGNED);
        write_column(output, &encoder->thread_column, TG_WIRE_UNSIGNED);
        write_times(output);
        write_column(output, &encoder->stop_column, TG_WIRE_UNSIGNED);
    }
    bool failed = output->failed;
    free(output->values);
    free(output->row_of_event);
    free(output->fields);
    free(output);
    return failed ? tg_error_no_memory() : NULL;
}
