#include "format/trace/chunk_serializer.h"

#include "format/base/array.h"
#include "format/trace/chunk_order.h"

#include "format/base/byte_cursor.h"
#include "format/trace/packed_column.h"
#include "format/trace/section.h"
#include "format/trace/wire_type.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ROWS = 4096,    /* payloads that are stored once each; more of them are not worth an index */
    MIN_REPETITION = 4, /* events for each of them, at least */
    ROW_SLOTS = 4 * MAX_ROWS,
    CHANGES = 256, /* that are remembered: rows follow each other in loops */
};

/* What it takes to get from one row to another. */
struct row_change {
    uint32_t from, to; /* +1; 0 and 0: none */
    uint64_t bytes;
};

/* Output of serialize; a failed allocation sticks. Room is for all events, of values also for all list
 * items. */
struct output {
    const struct tg_chunk_columns *columns;
    struct tg_byte_buffer *payload;
    struct tg_byte_buffer *boundaries;
    uint64_t *values;
    struct tg_chunk_order order;
    /* of the kind that is being written */
    uint64_t *fields; /* of all its events, one field after the other */
    size_t field_capacity;
    uint32_t *row_of_event;
    const uint64_t *rows[MAX_ROWS];
    uint32_t row_slots[ROW_SLOTS]; /* row + 1; 0: free */
    struct row_change changes[CHANGES];
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

static void write_members(struct output *output, const struct tg_chunk_column *column)
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

/* 0 is the next thread of the table, D the one that came D before it. */
static void write_threads(struct output *output)
{
    const struct tg_chunk_columns *columns = output->columns;
    uint32_t seen = 0;
    for (size_t i = 0; i < columns->n_events; i++) {
        uint32_t thread = columns->event_threads[i];
        output->values[i] = seen - thread;
        seen += thread == seen;
    }
    write_values(output, output->values, columns->n_events);
}

/* The kinds of the events of each thread in turn. */
static void write_kinds(struct output *output)
{
    size_t n = output->columns->n_events;
    for (size_t position = 0; position < n; position++)
        output->values[position] = output->columns->event_kinds[output->order.by_thread[position]];
    write_values(output, output->values, n);
}

/* In units. */
static uint64_t stop_of(const struct output *output, size_t event)
{
    const struct tg_chunk_columns *columns = output->columns;
    return event < columns->n_stops ? columns->event_stops[event] >> columns->units.stop_shift : 0;
}

/* Times are stored against the end of the stop before, the first against the header's first time. */
static void write_times(struct output *output)
{
    const struct tg_chunk_columns *columns = output->columns;
    struct tg_trace_units units = columns->units;
    uint64_t end_ns = columns->first_time_ns;
    for (size_t i = 0; i < columns->n_events; i++) {
        uint64_t time_ns = columns->event_times[i];
        output->values[i] = (uint64_t)((int64_t)(time_ns - end_ns) >> units.time_shift);
        end_ns = time_ns + (stop_of(output, i) << units.stop_shift);
    }
    write_smallest(output, output->values, columns->n_events, TG_COLUMN_ZIGZAG);
}

static void write_stops(struct output *output, const uint32_t *events, size_t n)
{
    for (size_t i = 0; i < n && output->columns->n_stops > 0; i++)
        output->values[i] = stop_of(output, events[i]);
    write_values(output, output->values, output->columns->n_stops > 0 ? n : 0);
}

static const uint64_t *row_of(const struct output *output, const struct tg_chunk_kind *kind, uint32_t event)
{
    return tg_chunk_rows_at(&kind->rows, output->columns->event_rows[event]);
}

/* Reads the fields of all events of a kind, in the order of EVENTS. */
static bool read_fields(struct output *output, const struct tg_chunk_kind *kind, const uint32_t *events)
{
    size_t n = kind->n_events, n_fields = kind->rows.n_numbers;
    if (TG_ARRAY_RESERVE(output->fields, output->field_capacity, n * n_fields) != NULL) {
        output->failed = true;
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = row_of(output, kind, events[i]);
        for (size_t f = 0; f < n_fields; f++)
            output->fields[f * n + i] = row[f];
    }
    return true;
}

static uint32_t max_rows(const struct tg_chunk_kind *kind)
{
    uint32_t most = kind->n_events / MIN_REPETITION;
    return most < MAX_ROWS ? most : MAX_ROWS;
}

/* The rows that the encoder has found, in the order of EVENTS; returns how many these are. */
static uint32_t take_rows(struct output *output, const struct tg_chunk_kind *kind, const uint32_t *events)
{
    uint32_t n_rows = 0, *numbers = output->row_slots;
    if (kind->rows.n_rows > max_rows(kind))
        return 0;
    memset(numbers, 0, kind->rows.n_rows * sizeof *numbers);
    for (uint32_t i = 0; i < kind->n_events; i++) {
        uint32_t row = output->columns->event_rows[events[i]];
        if (numbers[row] == 0) {
            output->rows[n_rows] = tg_chunk_rows_at(&kind->rows, row);
            numbers[row] = ++n_rows;
        }
        output->row_of_event[i] = numbers[row] - 1;
    }
    return n_rows;
}

/* The same where the encoder has given up. */
static uint32_t find_rows(struct output *output, const struct tg_chunk_kind *kind, const uint32_t *events)
{
    uint32_t n_rows = 0, most = max_rows(kind);
    size_t n_numbers = kind->rows.n_numbers;
    memset(output->row_slots, 0, sizeof output->row_slots);
    for (uint32_t i = 0; i < kind->n_events; i++) {
        const uint64_t *row = row_of(output, kind, events[i]);
        uint32_t slot = (uint32_t)tg_chunk_rows_hash(row, n_numbers) % ROW_SLOTS;
        while (output->row_slots[slot] != 0 &&
               memcmp(row, output->rows[output->row_slots[slot] - 1], n_numbers * sizeof *row) != 0)
            slot = (slot + 1) % ROW_SLOTS;
        if (output->row_slots[slot] == 0) {
            if (n_rows == most)
                return 0;
            output->rows[n_rows] = row;
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

static size_t gather_row_field(struct output *output, size_t f, uint32_t n_rows)
{
    for (uint32_t r = 0; r < n_rows; r++)
        output->values[r] = output->rows[r][f];
    return n_rows;
}

static uint64_t change_bytes(struct output *output, size_t n_numbers, uint32_t from, uint32_t to)
{
    if (from == to)
        return 0;
    struct row_change *change = &output->changes[(from * 31 + to) % CHANGES];
    if (change->from == from + 1 && change->to == to + 1)
        return change->bytes;
    *change = (struct row_change){.from = from + 1, .to = to + 1};
    for (size_t i = 0; i < n_numbers; i++)
        change->bytes += tg_packed_column_width(tg_zigzag(output->rows[to][i] - output->rows[from][i]));
    return change->bytes;
}

/* Whether N_ROWS rows with an index take less than a row for every event. Of many events, an eighth is looked at, in
 * runs. */
static bool rows_pay(struct output *output, const struct tg_chunk_kind *kind, uint32_t n_rows)
{
    enum { ALL = 4096, RUN = 64, SHARE = 8 };
    uint64_t all = 0, few = 0;
    const uint32_t *rows = output->row_of_event;
    bool is_sample = kind->n_events > ALL;
    memset(output->changes, 0, sizeof output->changes);
    for (uint32_t i = 1; i < kind->n_events; i++) {
        if (is_sample && i % (RUN * SHARE) == RUN)
            i += RUN * (SHARE - 1);
        if (i >= kind->n_events)
            break;
        few += tg_packed_column_width(tg_zigzag((uint64_t)rows[i] - rows[i - 1]));
        all += change_bytes(output, kind->rows.n_numbers, rows[i - 1], rows[i]);
    }
    few *= is_sample ? SHARE : 1;
    all *= is_sample ? SHARE : 1;
    for (size_t f = 0; f < kind->rows.n_numbers; f++)
        few += count_changes(output->values, gather_row_field(output, f, n_rows));
    return few <= all;
}

static bool has_list(const struct tg_record_schema *schema)
{
    for (size_t f = 0; f < schema->n_fields; f++)
        if (schema->fields[f].type == TG_FIELD_LIST)
            return true;
    return false;
}

static bool has_items(const struct tg_chunk_kind *kind)
{
    for (size_t m = 0; m < kind->n_members; m++)
        if (kind->members[m].bytes.size > 0)
            return true;
    return false;
}

static void write_kind_entry(struct output *output, const struct tg_chunk_kind *kind, uint32_t n_rows)
{
    write_varint(output, kind->number);
    write_varint(output, kind->n_events);
    write_varint(output, n_rows);
    write_varint(output, kind->schema->n_fields);
    const struct tg_chunk_column *members = kind->members;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_varint(output, tg_wire_type(field->type));
        if (field->type != TG_FIELD_LIST)
            continue;
        write_varint(output, tg_chunk_column_read(members, output->values));
        write_varint(output, field->element->n_fields);
        for (size_t e = 0; e < field->element->n_fields; e++)
            write_varint(output, tg_wire_type(field->element->fields[e].type));
        members += field->element->n_fields;
    }
}

static void write_rows(struct output *output, const struct tg_chunk_kind *kind, uint32_t n_rows)
{
    for (uint32_t i = 0; i < kind->n_events; i++)
        output->values[i] = output->row_of_event[i];
    write_values(output, output->values, kind->n_events);
    for (size_t f = 0; f < kind->rows.n_numbers; f++)
        write_field(output, output->values, gather_row_field(output, f, n_rows));
}

/* A row for every event, in the order of threads; lists are empty. */
static void write_columns(struct output *output, const struct tg_chunk_kind *kind, const uint32_t *events)
{
    if (!read_fields(output, kind, events))
        return;
    for (size_t f = 0; f < kind->rows.n_numbers; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_field(output, output->fields + f * kind->n_events, kind->n_events);
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_values(output, NULL, 0);
    }
}

/* A row for every event, in the order in which they were recorded. */
static void write_columns_with_lists(struct output *output, const struct tg_chunk_kind *kind)
{
    const struct tg_chunk_columns *columns = output->columns;
    const struct tg_chunk_column *members = kind->members;
    for (size_t f = 0; f < kind->rows.n_numbers; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        size_t n = 0;
        for (uint32_t i = 0; i < columns->n_events; i++)
            if (columns->event_kinds[i] == kind->chunk_index - 1)
                output->values[n++] = row_of(output, kind, i)[f];
        write_field(output, output->values, n);
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_members(output, members++);
    }
}

/* Entry and columns are together, so that a kind is decided on once. */
static void write_kind(struct output *output, const struct tg_chunk_kind *kind)
{
    const uint32_t *events = output->order.by_kind + output->order.first[kind->chunk_index - 1];
    uint32_t n_rows = 0;
    if (kind->n_events >= 2 * MIN_REPETITION && !has_list(kind->schema))
        n_rows = kind->rows.gave_up ? find_rows(output, kind, events) : take_rows(output, kind, events);
    if (n_rows > 0 && !rows_pay(output, kind, n_rows))
        n_rows = 0;
    write_kind_entry(output, kind, n_rows == 0 ? kind->n_events : n_rows);
    write_stops(output, events, kind->n_events);
    if (has_items(kind))
        write_columns_with_lists(output, kind);
    else if (n_rows == 0)
        write_columns(output, kind, events);
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
                     !tg_chunk_order_init(&output->order, columns);
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
