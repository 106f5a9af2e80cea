#include "format/trace/chunk_serializer.h"

#include "format/base/array.h"
#include "format/trace/chunk_order.h"

#include "format/base/byte_cursor.h"
#include "format/trace/packed_column.h"
#include "format/trace/section.h"
#include "format/trace/wire_type.h"

#include <stdlib.h>

enum {
    MAX_ROWS = 4096,    /* payloads that are stored once each; more of them are not worth an index */
    MIN_REPETITION = 4, /* events for each of them, at least */
    ROW_SLOTS = 4 * MAX_ROWS,
};

/* Output of serialize; a failed allocation sticks. Room is for all events, of values also for all list
 * items. */
struct output {
    const struct tg_chunk_columns *columns;
    struct tg_byte_buffer *payload;
    struct tg_byte_buffer *boundaries;
    uint64_t *values;
    struct tg_chunk_order order;
    uint64_t *fields; /* the fields of all events of a kind, one field after the other */
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

/* Overwrites VALUES. Differences of what is mostly noise, as times are, are noisier still. */
static void write_smallest(struct output *output, uint64_t *values, size_t n, enum tg_column_form last)
{
    if (!output->failed &&
        !tg_packed_column_write_smallest(output->payload, output->boundaries, values, n, last))
        output->failed = true;
}

static void write_field(struct output *output, uint64_t *values, size_t n)
{
    write_smallest(output, values, n, TG_COLUMN_DIFFERENCES);
}

static void write_column(struct output *output, const struct tg_chunk_column *column)
{
    write_field(output, output->values, tg_chunk_column_read(column, output->values));
}

static void write_strings(struct output *output)
{
    const struct tg_string_table *strings = &output->columns->strings;
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

static void write_thread_table(struct output *output)
{
    const struct tg_chunk_columns *columns = output->columns;
    struct tg_chunk_order *order = &output->order;
    write_varint(output, columns->n_threads);
    write_varint(output, order->n_processes);
    write_field(output, order->pids, order->n_processes);
    for (uint32_t t = 0; t < columns->n_threads; t++)
        output->values[t] = order->processes[t];
    write_values(output, output->values, columns->n_threads);
    for (uint32_t t = 0; t < columns->n_threads; t++)
        output->values[t] = tg_zigzag((uint64_t)(int64_t)(int32_t)(uint32_t)columns->threads[t]);
    write_field(output, output->values, columns->n_threads);
}

static void write_threads(struct output *output)
{
    write_values(output, output->values,
                 tg_chunk_column_read(&output->columns->thread_column, output->values));
}

/* The kinds of the events of each thread in turn. */
static void write_kinds(struct output *output)
{
    size_t n = output->columns->n_events;
    for (size_t position = 0; position < n; position++)
        output->values[position] = output->order.kinds[output->order.by_thread[position]];
    write_values(output, output->values, n);
}

/* Times are stored against the end of the stop before, the first against the header's first time. */
static void write_times(struct output *output)
{
    struct tg_trace_units units = output->columns->units;
    size_t n = tg_chunk_column_read(&output->columns->time_column, output->values);
    uint64_t time_ns = 0, end_ns = output->columns->first_time_ns;
    for (size_t i = 0; i < n; i++) {
        time_ns += tg_unzigzag(output->values[i]);
        output->values[i] = (uint64_t)((int64_t)(time_ns - end_ns) >> units.time_shift);
        end_ns = time_ns + (output->order.stops[i] << units.stop_shift);
    }
    write_smallest(output, output->values, n, TG_COLUMN_ZIGZAG);
}

static void write_stops(struct output *output, const uint32_t *events, size_t n)
{
    for (size_t i = 0; i < n; i++)
        output->values[i] = output->order.stops[events[i]];
    write_values(output, output->values, n);
}

/* Reads the fields of all events of a kind without lists, in the order of EVENTS. */
static bool read_fields(struct output *output, const struct tg_chunk_kind *kind, const uint32_t *events)
{
    size_t n = kind->n_events, needed = n * kind->n_columns;
    if (TG_ARRAY_RESERVE(output->fields, output->field_capacity, needed) != NULL) {
        output->failed = true;
        return false;
    }
    for (size_t c = 0; c < kind->n_columns; c++) {
        uint64_t *field = output->fields + c * n;
        if (tg_chunk_column_read(&kind->columns[c], output->values) == 0) {
            memset(field, 0, n * sizeof *field); /* of the items of lists that are all empty */
            continue;
        }
        for (size_t i = 0; i < n; i++)
            field[i] = output->values[output->order.ranks[events[i]]];
    }
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

/* Bytes, about, that a compressor cannot do without where only runs of one value cost nothing. */
static uint64_t count_changes(const uint64_t *values, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 1; i < n; i++)
        bytes += tg_packed_column_width(tg_zigzag(values[i] - values[i - 1]));
    return bytes;
}

static size_t gather_row_field(struct output *output, const struct tg_chunk_kind *kind, size_t c,
                               uint32_t n_rows)
{
    for (uint32_t r = 0; r < n_rows; r++)
        output->values[r] = output->fields[c * kind->n_events + output->row_events[r]];
    return n_rows;
}

/* Whether N_ROWS rows with an index take less than a row for every event. */
static bool rows_pay(struct output *output, const struct tg_chunk_kind *kind, uint32_t n_rows)
{
    uint64_t all = 0, few = 0;
    for (uint32_t i = 0; i < kind->n_events; i++)
        output->values[i] = output->row_of_event[i];
    few = count_changes(output->values, kind->n_events);
    for (size_t c = 0; c < kind->n_columns; c++) {
        all += count_changes(output->fields + c * kind->n_events, kind->n_events);
        few += count_changes(output->values, gather_row_field(output, kind, c, n_rows));
    }
    return few <= all;
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
    size_t n = tg_chunk_column_read(counts, output->values), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += output->values[i];
    return sum;
}

static bool has_items(const struct output *output, const struct tg_chunk_kind *kind)
{
    const struct tg_chunk_column *column = kind->columns;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        if (kind->schema->fields[f].type == TG_FIELD_LIST && count_items(output, column) > 0)
            return true;
        column += tg_field_columns(&kind->schema->fields[f]);
    }
    return false;
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
    for (size_t c = 0; c < kind->n_columns; c++) /* no lists: as many columns as fields */
        write_field(output, output->values, gather_row_field(output, kind, c, n_rows));
}

/* A row for every event, in the order of threads; lists are empty. */
static void write_columns(struct output *output, const struct tg_chunk_kind *kind)
{
    uint64_t *column = output->fields;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_field(output, column, kind->n_events);
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_values(output, NULL, 0);
        column += tg_field_columns(field) * kind->n_events;
    }
}

/* A row for every event, in the order in which they were recorded. */
static void write_columns_with_lists(struct output *output, const struct tg_chunk_kind *kind)
{
    const struct tg_chunk_column *column = kind->columns;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_column(output, column++);
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_column(output, column++);
    }
}

/* Entry and columns are together, so that a kind is decided on once. */
static void write_kind(struct output *output, const struct tg_chunk_kind *kind)
{
    const uint32_t *events = output->order.by_kind + output->order.first[kind->chunk_index - 1];
    uint32_t n_rows = 0;
    bool with_lists = has_items(output, kind);
    if (!with_lists && !read_fields(output, kind, events))
        return;
    if (kind->n_events >= 2 * MIN_REPETITION && !has_list(kind->schema))
        n_rows = find_rows(output, kind);
    if (n_rows > 0 && !rows_pay(output, kind, n_rows))
        n_rows = 0;
    write_kind_entry(output, kind, n_rows == 0 ? kind->n_events : n_rows);
    write_stops(output, events, kind->n_events);
    if (with_lists)
        write_columns_with_lists(output, kind);
    else if (n_rows == 0)
        write_columns(output, kind);
    else
        write_rows(output, kind, n_rows);
}

static void write_payload(struct output *output)
{
    const struct tg_chunk_columns *columns = output->columns;
    write_strings(output);
    write_thread_table(output);
    write_varint(output, columns->units.time_shift);
    write_varint(output, columns->units.stop_shift);
    write_varint(output, columns->n_kinds_used);
    for (uint32_t i = 0; i < columns->n_kinds_used; i++)
        write_kind(output, &columns->kinds[columns->kinds_used[i]]);
    write_kinds(output);
    write_threads(output);
    write_times(output);
}

struct tg_error *tg_chunk_serialize(const struct tg_chunk_columns *columns, struct tg_byte_buffer *payload,
                                    struct tg_byte_buffer *boundaries)
{
    struct output *output = calloc(1, sizeof *output);
    if (output == NULL)
        return tg_error_no_memory();
    size_t n = columns->n_events > columns->n_list_items ? columns->n_events : columns->n_list_items;
    output->columns = columns;
    output->payload = payload;
    output->boundaries = boundaries;
    output->values = malloc((n + 1) * sizeof *output->values);
    output->row_of_event = malloc((columns->n_events + 1) * sizeof *output->row_of_event);
    output->failed = output->values == NULL || output->row_of_event == NULL ||
                     !tg_chunk_order_init(&output->order, columns, output->values);
    payload->size = boundaries->size = 0;
    if (!output->failed)
        write_payload(output);
    bool failed = output->failed;
    tg_chunk_order_deinit(&output->order);
    free(output->values);
    free(output->row_of_event);
    free(output->fields);
    free(output);
    return failed ? tg_error_no_memory() : NULL;
}
