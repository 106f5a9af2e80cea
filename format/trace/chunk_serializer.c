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
    CHANGES = 256, /* changes that are remembered: rows follow each other in loops */
};

/* What it takes to get from one row to another. */
struct row_change {
    uint32_t from, to; /* +1; 0 and 0: none */
    uint64_t bytes;
};

/* A failed allocation sticks, for one chunk. Room is for all events, of values also for all list items. */
struct tg_chunk_serializer {
    const struct tg_chunk_columns *columns;
    struct tg_byte_buffer *payload;
    struct tg_byte_buffer *boundaries;
    uint64_t *values;
    size_t value_capacity;
    struct tg_chunk_order order;
    /* of the kind that is being written */
    uint64_t *fields; /* of all its events, one field after the other */
    size_t field_capacity;
    uint32_t *row_of_event;
    size_t row_capacity;
    const uint64_t *rows[MAX_ROWS];
    uint32_t row_slots[ROW_SLOTS]; /* row + 1; 0: free */
    struct row_change changes[CHANGES];
    bool failed;
};

static void write_varint(struct tg_chunk_serializer *serializer, uint64_t value)
{
    if (serializer->failed || !tg_byte_buffer_reserve(serializer->payload, TG_VARINT_MAX_BYTES))
        serializer->failed = true;
    else
        tg_byte_buffer_put_varint(serializer->payload, value);
}

static void write_values(struct tg_chunk_serializer *serializer, const uint64_t *values, size_t n)
{
    if (!serializer->failed &&
        !tg_packed_column_write(serializer->payload, serializer->boundaries, values, n))
        serializer->failed = true;
}

static void write_bytes(struct tg_chunk_serializer *serializer, const uint8_t *values, size_t n)
{
    if (!serializer->failed &&
        !tg_packed_column_write_bytes(serializer->payload, serializer->boundaries, values, n))
        serializer->failed = true;
}

/* Overwrites VALUES. Differences of what is mostly noise, as times are, are noisier still. */
static void write_smallest(struct tg_chunk_serializer *serializer, uint64_t *values, size_t n,
                           enum tg_column_form last)
{
    if (!serializer->failed &&
        !tg_packed_column_write_smallest(serializer->payload, serializer->boundaries, values, n, last))
        serializer->failed = true;
}

static void write_field(struct tg_chunk_serializer *serializer, uint64_t *values, size_t n)
{
    write_smallest(serializer, values, n, TG_COLUMN_DIFFERENCES);
}

/* The field of N events that have VALUE. */
static void write_same(struct tg_chunk_serializer *serializer, uint64_t value, size_t n)
{
    if (!serializer->failed &&
        !tg_packed_column_write_same(serializer->payload, serializer->boundaries, value, n))
        serializer->failed = true;
}

static void write_members(struct tg_chunk_serializer *serializer, const struct tg_chunk_column *column)
{
    write_field(serializer, serializer->values, tg_chunk_column_read(column, serializer->values));
}

static void write_strings(struct tg_chunk_serializer *serializer)
{
    const struct tg_string_table *strings = &serializer->columns->strings;
    write_varint(serializer, strings->count);
    write_varint(serializer, strings->text.size);
    size_t offset = serializer->payload->size;
    if (serializer->failed || !tg_byte_buffer_reserve(serializer->payload, strings->text.size) ||
        !tg_byte_buffer_reserve(serializer->boundaries, 2 * sizeof offset)) {
        serializer->failed = true;
        return;
    }
    tg_byte_buffer_put(serializer->boundaries, &offset, sizeof offset);
    tg_byte_buffer_put(serializer->payload, strings->text.data, strings->text.size);
    offset = serializer->payload->size;
    tg_byte_buffer_put(serializer->boundaries, &offset, sizeof offset);
}

static void write_thread_table(struct tg_chunk_serializer *serializer)
{
    const struct tg_chunk_columns *columns = serializer->columns;
    struct tg_chunk_order *order = &serializer->order;
    write_varint(serializer, columns->n_threads);
    write_varint(serializer, order->n_processes);
    write_field(serializer, order->pids, order->n_processes);
    for (uint32_t t = 0; t < columns->n_threads; t++)
        serializer->values[t] = order->processes[t];
    write_values(serializer, serializer->values, columns->n_threads);
    for (uint32_t t = 0; t < columns->n_threads; t++)
        serializer->values[t] = tg_zigzag((uint64_t)(int64_t)(int32_t)(uint32_t)columns->threads[t]);
    write_field(serializer, serializer->values, columns->n_threads);
}

/* 0 is the next thread of the table, D the one that came D before it. */
static void write_threads(struct tg_chunk_serializer *serializer)
{
    const struct tg_chunk_columns *columns = serializer->columns;
    const uint32_t *threads = columns->event_threads;
    uint8_t *bytes = (uint8_t *)serializer->values;
    uint32_t seen = 0;
    if (columns->n_threads <= UINT8_MAX) {
        size_t i = 0;
        for (; i < columns->n_events && seen < columns->n_threads; i++) {
            bytes[i] = (uint8_t)(seen - threads[i]);
            seen += threads[i] == seen;
        }
        for (; i < columns->n_events; i++)
            bytes[i] = (uint8_t)(seen - threads[i]);
        write_bytes(serializer, bytes, columns->n_events);
        return;
    }
    for (size_t i = 0; i < columns->n_events; i++) {
        serializer->values[i] = seen - threads[i];
        seen += threads[i] == seen;
    }
    write_values(serializer, serializer->values, columns->n_events);
}

/* The kinds of the events of each thread in turn. */
static void write_kinds(struct tg_chunk_serializer *serializer)
{
    write_bytes(serializer, serializer->order.kinds, serializer->columns->n_events);
}

/* In units. */
static uint64_t stop_of(const struct tg_chunk_serializer *serializer, size_t event)
{
    const struct tg_chunk_columns *columns = serializer->columns;
    return event < columns->n_stops ? columns->event_stops[event] >> columns->units.stop_shift : 0;
}

/* Times are stored against the end of the stop before, the first against the header's first time. */
static void write_times(struct tg_chunk_serializer *serializer)
{
    const struct tg_chunk_columns *columns = serializer->columns;
    struct tg_trace_units units = columns->units;
    uint64_t end_ns = columns->first_time_ns;
    size_t i = 0;
    for (; i < columns->n_stops; i++) {
        uint64_t time_ns = columns->event_times[i];
        serializer->values[i] = (uint64_t)((int64_t)(time_ns - end_ns) >> units.time_shift);
        end_ns = time_ns + (stop_of(serializer, i) << units.stop_shift);
    }
    if (i < columns->n_events) {
        serializer->values[i] = (uint64_t)((int64_t)(columns->event_times[i] - end_ns) >> units.time_shift);
        i++;
    }
    for (; i < columns->n_events; i++) /* both times are rounded */
        serializer->values[i] =
            (columns->event_times[i] >> units.time_shift) - (columns->event_times[i - 1] >> units.time_shift);
    write_smallest(serializer, serializer->values, columns->n_events, TG_COLUMN_ZIGZAG);
}

static void write_stops(struct tg_chunk_serializer *serializer, const uint32_t *events, size_t n)
{
    for (size_t i = 0; i < n && serializer->columns->n_stops > 0; i++)
        serializer->values[i] = stop_of(serializer, events[i]);
    write_values(serializer, serializer->values, serializer->columns->n_stops > 0 ? n : 0);
}

/* Reads the fields of all events of a kind, whose ROWS are no variants. */
static bool read_fields(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                        const uint32_t *rows)
{
    size_t n = kind->n_events, n_fields = kind->rows.n_numbers;
    if (TG_ARRAY_RESERVE(serializer->fields, serializer->field_capacity, n * n_fields) != NULL) {
        serializer->failed = true;
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = tg_chunk_rows_at(&kind->rows, rows[i]);
        for (size_t f = 0; f < n_fields; f++)
            serializer->fields[f * n + i] = row[f];
    }
    return true;
}

static uint32_t max_rows(const struct tg_chunk_kind *kind)
{
    uint32_t most = kind->n_events / MIN_REPETITION;
    return most < MAX_ROWS ? most : MAX_ROWS;
}

/* The rows that the encoder has found, in the order in which they are among ROWS first; returns how many these are. */
static uint32_t take_rows(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                          const uint32_t *rows)
{
    uint32_t n_rows = 0, *numbers = serializer->row_slots;
    if (kind->rows.n_rows > max_rows(kind))
        return 0;
    memset(numbers, 0, kind->rows.n_rows * sizeof *numbers);
    for (uint32_t i = 0; i < kind->n_events; i++) {
        uint32_t row = rows[i];
        if (numbers[row] == 0) {
            serializer->rows[n_rows] = tg_chunk_rows_at(&kind->rows, row);
            numbers[row] = ++n_rows;
        }
        serializer->row_of_event[i] = numbers[row] - 1;
    }
    return n_rows;
}

/* The same where the encoder has given up. */
static uint32_t find_rows(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                          const uint32_t *rows)
{
    uint32_t n_rows = 0, most = max_rows(kind);
    size_t n_numbers = kind->rows.n_numbers;
    if (most == 0)
        return 0;
    uint32_t n_slots = ROW_SLOTS; /* the least power of two that leaves three of four free */
    while (n_slots / 2 >= most * (ROW_SLOTS / MAX_ROWS))
        n_slots /= 2;
    memset(serializer->row_slots, 0, n_slots * sizeof serializer->row_slots[0]);
    for (uint32_t i = 0; i < kind->n_events; i++) {
        const uint64_t *row = tg_chunk_rows_at(&kind->rows, rows[i]);
        uint32_t slot = (uint32_t)tg_chunk_rows_hash(row, n_numbers) % n_slots;
        while (serializer->row_slots[slot] != 0 &&
               memcmp(row, serializer->rows[serializer->row_slots[slot] - 1], n_numbers * sizeof *row) != 0)
            slot = (slot + 1) % n_slots;
        if (serializer->row_slots[slot] == 0) {
            if (n_rows == most)
                return 0;
            serializer->rows[n_rows] = row;
            serializer->row_slots[slot] = ++n_rows;
        }
        serializer->row_of_event[i] = serializer->row_slots[slot] - 1;
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

static size_t gather_row_field(struct tg_chunk_serializer *serializer, size_t f, uint32_t n_rows)
{
    for (uint32_t r = 0; r < n_rows; r++)
        serializer->values[r] = serializer->rows[r][f];
    return n_rows;
}

static uint64_t change_bytes(struct tg_chunk_serializer *serializer, size_t n_numbers, uint32_t from,
                             uint32_t to)
{
    if (from == to)
        return 0;
    struct row_change *change = &serializer->changes[(from * 31 + to) % CHANGES];
    if (change->from == from + 1 && change->to == to + 1)
        return change->bytes;
    *change = (struct row_change){.from = from + 1, .to = to + 1};
    for (size_t i = 0; i < n_numbers; i++)
        change->bytes +=
            tg_packed_column_width(tg_zigzag(serializer->rows[to][i] - serializer->rows[from][i]));
    return change->bytes;
}

/* Whether N_ROWS rows with an index take less than a row for every event. Of many events, an eighth is looked at, in
 * runs. */
static bool rows_pay(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                     uint32_t n_rows)
{
    enum { ALL = 4096, RUN = 64, SHARE = 8 };
    uint64_t all = 0, few = 0;
    const uint32_t *rows = serializer->row_of_event;
    bool is_sample = kind->n_events > ALL;
    memset(serializer->changes, 0, sizeof serializer->changes);
    for (uint32_t i = 1; i < kind->n_events; i++) {
        if (is_sample && i % (RUN * SHARE) == RUN)
            i += RUN * (SHARE - 1);
        if (i >= kind->n_events)
            break;
        few += tg_packed_column_width(tg_zigzag((uint64_t)rows[i] - rows[i - 1]));
        all += change_bytes(serializer, kind->rows.n_numbers, rows[i - 1], rows[i]);
    }
    few *= is_sample ? SHARE : 1;
    all *= is_sample ? SHARE : 1;
    for (size_t f = 0; f < kind->rows.n_numbers; f++)
        few += count_changes(serializer->values, gather_row_field(serializer, f, n_rows));
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

static void write_kind_entry(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                             uint32_t n_rows)
{
    write_varint(serializer, kind->number);
    write_varint(serializer, kind->n_events);
    write_varint(serializer, n_rows);
    write_varint(serializer, kind->schema->n_fields);
    const struct tg_chunk_column *members = kind->members;
    for (size_t f = 0; f < kind->schema->n_fields; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_varint(serializer, tg_wire_type(field->type));
        if (field->type != TG_FIELD_LIST)
            continue;
        write_varint(serializer, tg_chunk_column_read(members, serializer->values));
        write_varint(serializer, field->element->n_fields);
        for (size_t e = 0; e < field->element->n_fields; e++)
            write_varint(serializer, tg_wire_type(field->element->fields[e].type));
        members += field->element->n_fields;
    }
}

static void write_rows(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                       uint32_t n_rows)
{
    const uint32_t *rows = serializer->row_of_event;
    uint8_t *bytes = (uint8_t *)serializer->values;
    if (n_rows <= UINT8_MAX + 1) {
        for (uint32_t i = 0; i < kind->n_events; i++)
            bytes[i] = (uint8_t)rows[i];
        write_bytes(serializer, bytes, kind->n_events);
    } else {
        for (uint32_t i = 0; i < kind->n_events; i++)
            serializer->values[i] = rows[i];
        write_values(serializer, serializer->values, kind->n_events);
    }
    for (size_t f = 0; f < kind->rows.n_numbers; f++)
        write_field(serializer, serializer->values, gather_row_field(serializer, f, n_rows));
}

/* A row for every event, in the order of threads; lists are empty. */
static void write_columns(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                          const uint32_t *rows)
{
    if (!read_fields(serializer, kind, rows))
        return;
    for (size_t f = 0; f < kind->rows.n_numbers; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        write_field(serializer, serializer->fields + f * kind->n_events, kind->n_events);
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_values(serializer, NULL, 0);
    }
}

/* Whether all rows that are no variants have the same number of FIELD. */
static bool is_same(const struct tg_chunk_rows *rows, uint32_t field)
{
    uint32_t row = 1;
    while (row < rows->n_rows && tg_chunk_rows_at(rows, row)[field] == tg_chunk_rows_at(rows, 0)[field])
        row++;
    return row >= rows->n_rows;
}

/* The numbers of FIELD, the moving one M or, where M is none, no moving one, of the N rows at NUMBERS. */
static void gather_varied(const struct tg_chunk_rows *rows, uint32_t field, uint32_t m,
                          const uint32_t *numbers, uint32_t n, uint64_t *values)
{
    const uint64_t *moved = m < rows->n_moving ? rows->moved[m] : NULL;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = numbers[i], variant = row & ~TG_CHUNK_VARIANT;
        if (row != variant && moved != NULL)
            values[i] = moved[variant];
        else
            values[i] = tg_chunk_rows_at(rows, row == variant ? row : rows->bases[variant])[field];
    }
}

/* The same, where most rows are variants of a few. */
static void write_varied_columns(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind,
                                 const uint32_t *numbers)
{
    const struct tg_chunk_rows *rows = &kind->rows;
    uint32_t n = kind->n_events;
    for (uint32_t f = 0; f < rows->n_numbers; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        uint32_t m = tg_chunk_rows_moving(rows, f);
        if (m == rows->n_moving && is_same(rows, f)) {
            write_same(serializer, tg_chunk_rows_at(rows, 0)[f], n);
        } else {
            gather_varied(rows, f, m, numbers, n, serializer->values);
            write_field(serializer, serializer->values, n);
        }
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_values(serializer, NULL, 0);
    }
}

/* A row for every event, in the order in which they were recorded. */
static void write_columns_with_lists(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind)
{
    const struct tg_chunk_columns *columns = serializer->columns;
    const struct tg_chunk_column *members = kind->members;
    for (uint32_t f = 0; f < kind->rows.n_numbers; f++) {
        const struct tg_field *field = &kind->schema->fields[f];
        size_t n = 0;
        for (uint32_t i = 0; i < columns->n_events; i++)
            if (columns->event_kinds[i] == kind->chunk_index - 1)
                serializer->values[n++] = tg_chunk_rows_number(&kind->rows, columns->event_rows[i], f);
        write_field(serializer, serializer->values, n);
        for (size_t e = 0; field->type == TG_FIELD_LIST && e < field->element->n_fields; e++)
            write_members(serializer, members++);
    }
}

/* Entry and columns are together, so that a kind is decided on once. */
static void write_kind(struct tg_chunk_serializer *serializer, const struct tg_chunk_kind *kind)
{
    const struct tg_chunk_order *order = &serializer->order;
    uint32_t first = order->first[kind->chunk_index - 1], n_rows = 0;
    const uint32_t *rows = order->rows + first;
    if (kind->n_events >= 2 * MIN_REPETITION && !has_list(kind->schema) && kind->rows.n_variants == 0)
        n_rows = kind->rows.gave_up ? find_rows(serializer, kind, rows) : take_rows(serializer, kind, rows);
    if (n_rows > 0 && !rows_pay(serializer, kind, n_rows))
        n_rows = 0;
    write_kind_entry(serializer, kind, n_rows == 0 ? kind->n_events : n_rows);
    write_stops(serializer, order->events + first, kind->n_events);
    if (has_items(kind))
        write_columns_with_lists(serializer, kind);
    else if (kind->rows.n_variants > 0)
        write_varied_columns(serializer, kind, rows);
    else if (n_rows == 0)
        write_columns(serializer, kind, rows);
    else
        write_rows(serializer, kind, n_rows);
}

static void write_payload(struct tg_chunk_serializer *serializer)
{
    const struct tg_chunk_columns *columns = serializer->columns;
    write_strings(serializer);
    write_thread_table(serializer);
    write_varint(serializer, columns->units.time_shift);
    write_varint(serializer, columns->units.stop_shift);
    write_varint(serializer, columns->n_kinds_used);
    for (uint32_t i = 0; i < columns->n_kinds_used; i++)
        write_kind(serializer, &columns->kinds[columns->kinds_used[i]]);
    write_kinds(serializer);
    write_threads(serializer);
    write_times(serializer);
}

struct tg_chunk_serializer *tg_chunk_serializer_create(void)
{
    return calloc(1, sizeof(struct tg_chunk_serializer));
}

void tg_chunk_serializer_destroy(struct tg_chunk_serializer *serializer)
{
    if (serializer == NULL)
        return;
    tg_chunk_order_deinit(&serializer->order);
    free(serializer->values);
    free(serializer->row_of_event);
    free(serializer->fields);
    free(serializer);
}

struct tg_error *tg_chunk_serialize(struct tg_chunk_serializer *serializer,
                                    const struct tg_chunk_columns *columns, struct tg_byte_buffer *payload,
                                    struct tg_byte_buffer *boundaries)
{
    size_t n = columns->n_events > columns->n_list_items ? columns->n_events : columns->n_list_items;
    serializer->columns = columns;
    serializer->payload = payload;
    serializer->boundaries = boundaries;
    serializer->failed =
        TG_ARRAY_RESERVE(serializer->values, serializer->value_capacity, n + 1) != NULL ||
        TG_ARRAY_RESERVE(serializer->row_of_event, serializer->row_capacity, columns->n_events + 1) != NULL ||
        !tg_chunk_order_sort(&serializer->order, columns);
    payload->size = boundaries->size = 0;
    if (!serializer->failed)
        write_payload(serializer);
    return serializer->failed ? tg_error_no_memory() : NULL;
}
