/* The index of a trace: where its chunks are, what times they cover, and of which kinds their events are. */
#ifndef TG_FORMAT_TRACE_INDEX_H
#define TG_FORMAT_TRACE_INDEX_H

#include "format/base/byte_buffer.h"
#include "format/base/byte_cursor.h"
#include "format/base/error.h"
#include "format/trace/kind_set.h"

enum { TG_INDEX_MAX_ENTRIES = 1 << 16 };

/* One or more EVENTS chunks that follow each other. */
struct tg_index_entry {
    uint64_t offset; /* of the first one in the file */
    uint64_t chunks;
    uint64_t events;
    uint64_t first_time_ns, last_time_ns; /* least and greatest time of its events */
    struct tg_kind_set kinds;
};

/* Caller's storage; all zero is an empty index. */
struct tg_trace_index {
    struct tg_index_entry *entries;
    size_t count, capacity;
    uint64_t chunks_per_entry; /* doubles whenever the entries are full, so that memory stays bounded */
    uint64_t sections;         /* of the file, without the INDEX section itself */
    uint64_t lost_events;
};

void tg_trace_index_deinit(struct tg_trace_index *index);

/* Adds one chunk. NO_MEMORY. */
struct tg_error *tg_trace_index_add(struct tg_trace_index *index, const struct tg_index_entry *chunk);

/* Sums over all entries. */
uint64_t tg_trace_index_chunks(const struct tg_trace_index *index);
uint64_t tg_trace_index_events(const struct tg_trace_index *index);

/* The entry that the chunk at OFFSET belongs to, NULL none. */
const struct tg_index_entry *tg_trace_index_find(const struct tg_trace_index *index, uint64_t offset);

/* The payload of an INDEX section, without kinds, appended to PAYLOAD. NO_MEMORY. */
struct tg_error *tg_trace_index_encode(const struct tg_trace_index *index, struct tg_byte_buffer *payload);

/* From the payload of an INDEX section; CURSOR over all of it. INDEX must be empty. Its entries may be of any kind. */
struct tg_error *tg_trace_index_decode(struct tg_trace_index *index, struct tg_byte_cursor *cursor);

/* The payload of the KINDS section that belongs to the INDEX section with the payload OF, appended to PAYLOAD.
 * NO_MEMORY. */
struct tg_error *tg_trace_index_encode_kinds(const struct tg_trace_index *index,
                                             const struct tg_byte_buffer *of, struct tg_byte_buffer *payload);

/* Gives the entries of INDEX their kinds, from the payload of a KINDS section; CURSOR over all of it. HASH: of INDEX's
 * own payload (tg_section_hash). Where the payload belongs to another index, or is damaged (INPUT), the entries may
 * still be of any kind. INDEX may be NULL: the payload is only checked. */
struct tg_error *tg_trace_index_decode_kinds(struct tg_trace_index *index, uint64_t hash,
                                             struct tg_byte_cursor *cursor);

#endif
