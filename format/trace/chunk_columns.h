/* What the chunk encoder gathers and its serializer writes; theirs alone. */
#ifndef TG_FORMAT_TRACE_CHUNK_COLUMNS_H
#define TG_FORMAT_TRACE_CHUNK_COLUMNS_H

#include "format/trace/chunk_encoder.h"
#include "format/trace/string_table.h"

/* Values as varints, as quick to append as can be: zigzag for signed fields, string ids, others as they are.
 * Behind them TG_CURSOR_PADDING bytes of capacity. */
struct tg_chunk_column {
    struct tg_byte_buffer bytes;
};

struct tg_chunk_kind {
    unsigned number;
    const struct tg_record_schema *schema;
    uint32_t chunk_index; /* index in the chunk's kind table + 1; 0: not in this chunk */
    uint32_t n_events;
    struct tg_chunk_column
        *columns; /* of each field in turn: one, for a list the counts and one for each member */
    size_t n_columns;
};

struct tg_chunk_encoder {
    struct tg_string_table strings;
    struct tg_chunk_kind *kinds;
    size_t n_kinds;
    uint32_t *kinds_used; /* by chunk index: index into KINDS */
    uint32_t n_kinds_used;

    uint64_t *threads; /* pid << 32 | tid, by index */
    struct tg_thread_slot *thread_slots;
    uint32_t n_threads, thread_capacity, n_thread_slots;
    uint64_t recent_key;
    uint32_t recent_id; /* +1; 0: none */

    struct tg_chunk_column kind_column, thread_column; /* as in the file */
    struct tg_chunk_column time_column; /* zigzag of the difference to the time before, from 0 */
    struct tg_chunk_column stop_column;
    struct tg_trace_units units;
    uint64_t previous_time_ns;
    size_t n_events, raw_bytes, n_list_items;
    uint64_t first_time_ns, last_time_ns;
};

#endif
