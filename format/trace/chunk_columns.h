/* The events of one chunk as columns: the chunk encoder gathers them, the chunk serializer writes them. */
#ifndef TG_FORMAT_TRACE_CHUNK_COLUMNS_H
#define TG_FORMAT_TRACE_CHUNK_COLUMNS_H

#include "format/base/byte_buffer.h"
#include "format/event/event.h"
#include "format/trace/chunk_rows.h"
#include "format/trace/kind_set.h"
#include "format/trace/meta.h"
#include "format/trace/string_table.h"

/* Values as varints, as quick to append as can be: zigzag for signed members, string ids, others as they are.
 * Behind them TG_CURSOR_PADDING bytes of capacity. */
struct tg_chunk_column {
    struct tg_byte_buffer bytes;
};

struct tg_chunk_kind {
    unsigned number;
    const struct tg_record_schema *schema;
    uint32_t chunk_index; /* index in the chunk's kind table + 1; 0: not in this chunk */
    uint32_t n_events;
    struct tg_chunk_rows rows; /* a number a field: zigzag of signed ones, ids of strings, lengths of lists */
    struct tg_chunk_column *members; /* of the items of lists in turn, in the order of the events */
    size_t n_members;
    bool is_plain; /* neither strings nor lists: a payload is its numbers, one after the other, ... */
    uint32_t signed_fields; /* ... these with a sign: a bit each */
};

struct tg_chunk_columns {
    struct tg_string_table strings;
    struct tg_chunk_kind *kinds; /* every kind there is, in ascending order */
    size_t n_kinds;
    uint32_t *kinds_used; /* by chunk index: index into KINDS */
    uint32_t n_kinds_used;
    uint64_t *threads; /* pid << 32 | tid, by index */
    uint32_t n_threads;
    struct tg_trace_units units;
    size_t n_events, n_list_items;
    uint64_t first_time_ns;

    /* by event */
    uint8_t *event_kinds;    /* chunk index of the kind */
    uint32_t *event_threads; /* index into THREADS */
    uint32_t *event_rows;    /* of the kind's rows */
    uint64_t *event_times;   /* in ns, rounded */
    uint64_t *event_stops;   /* likewise; the first N_STOPS, all others are 0 */
    size_t n_stops;
};

/* The values of COLUMN, all of them; returns their number. */
size_t tg_chunk_column_read(const struct tg_chunk_column *column, uint64_t *values);

/* The kinds of the events, and whether one of them has a stop as it is written. */
struct tg_kind_set tg_chunk_columns_kinds(const struct tg_chunk_columns *columns);

#endif
