#include "format/trace/index.h"

#include "format/base/array.h"
#include "format/base/search.h"
#include "format/event/event.h"
#include "format/trace/section.h"

#include <stdlib.h>

void tg_trace_index_deinit(struct tg_trace_index *index)
{
    free(index->entries);
    *index = (struct tg_trace_index){0};
}

static void join(struct tg_index_entry *entry, const struct tg_index_entry *next)
{
    entry->chunks += next->chunks;
    entry->events += next->events;
    if (next->first_time_ns < entry->first_time_ns)
        entry->first_time_ns = next->first_time_ns;
    if (next->last_time_ns > entry->last_time_ns)
        entry->last_time_ns = next->last_time_ns;
    tg_kind_set_join(&entry->kinds, &next->kinds);
}

static void halve(struct tg_trace_index *index)
{
    for (size_t i = 0; i < index->count; i += 2) {
        index->entries[i / 2] = index->entries[i];
        if (i + 1 < index->count)
            join(&index->entries[i / 2], &index->entries[i + 1]);
    }
    index->count = (index->count + 1) / 2;
    index->chunks_per_entry *= 2;
}

struct tg_error *tg_trace_index_add(struct tg_trace_index *index, const struct tg_index_entry *chunk)
{
    if (index->chunks_per_entry == 0)
        index->chunks_per_entry = 1;
    if (index->count > 0 && index->entries[index->count - 1].chunks < index->chunks_per_entry) {
        join(&index->entries[index->count - 1], chunk);
        return NULL;
    }
    if (index->count == TG_INDEX_MAX_ENTRIES)
        halve(index);
    return TG_ARRAY_APPEND(index->entries, index->count, index->capacity, *chunk);
}

uint64_t tg_trace_index_chunks(const struct tg_trace_index *index)
{
    uint64_t chunks = 0;
    for (size_t i = 0; i < index->count; i++)
        chunks += index->entries[i].chunks;
    return chunks;
}

uint64_t tg_trace_index_events(const struct tg_trace_index *index)
{
    uint64_t events = 0;
    for (size_t i = 0; i < index->count; i++)
        events += index->entries[i].events;
    return events;
}

const struct tg_index_entry *tg_trace_index_find(const struct tg_trace_index *index, uint64_t offset)
{
    size_t behind = TG_UPPER_BOUND(index->entries, index->count, offset, offset);
    return behind == 0 ? NULL : &index->entries[behind - 1];
}

struct tg_error *tg_trace_index_encode(const struct tg_trace_index *index, struct tg_byte_buffer *payload)
{
    if (!tg_byte_buffer_reserve(payload, (3 + 5 * index->count) * TG_VARINT_MAX_BYTES))
        return tg_error_no_memory();
    tg_byte_buffer_put_varint(payload, index->sections);
    tg_byte_buffer_put_varint(payload, index->lost_events);
    tg_byte_buffer_put_varint(payload, index->count);
    uint64_t offset = 0, time_ns = 0;
    for (size_t i = 0; i < index->count; i++) {
        const struct tg_index_entry *entry = &index->entries[i];
        tg_byte_buffer_put_varint(payload, entry->offset - offset);
        tg_byte_buffer_put_varint(payload, entry->chunks);
        tg_byte_buffer_put_varint(payload, entry->events);
        tg_byte_buffer_put_varint(payload, tg_zigzag(entry->first_time_ns - time_ns));
        tg_byte_buffer_put_varint(payload, entry->last_time_ns - entry->first_time_ns);
        offset = entry->offset;
        time_ns = entry->first_time_ns;
    }
    return NULL;
}

static struct tg_error *decode_entry(struct tg_byte_cursor *cursor, const struct tg_index_entry *previous,
                                     struct tg_index_entry *entry)
{
    uint64_t offset = 0, time_ns = 0, span_ns = 0;
    struct tg_error *error =
        tg_byte_cursor_varint(cursor, "chunk offset", INT64_MAX - previous->offset, &offset);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of chunks", UINT32_MAX, &entry->chunks);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of events", INT64_MAX, &entry->events);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "first time", UINT64_MAX, &time_ns);
    entry->offset = previous->offset + offset;
    entry->first_time_ns = previous->first_time_ns + tg_unzigzag(time_ns);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "time span", UINT64_MAX - entry->first_time_ns, &span_ns);
    entry->last_time_ns = entry->first_time_ns + span_ns;
    return error;
}

struct tg_error *tg_trace_index_decode(struct tg_trace_index *index, struct tg_byte_cursor *cursor)
{
    uint64_t count = 0;
    struct tg_error *error =
        tg_byte_cursor_varint(cursor, "number of sections", UINT64_MAX, &index->sections);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "lost events", UINT64_MAX, &index->lost_events);
    index->lost_events = tg_loss_count(index->lost_events);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of entries", TG_INDEX_MAX_ENTRIES, &count);
    if (error == NULL && count > 0) {
        index->entries = calloc(count, sizeof *index->entries);
        if (index->entries == NULL)
            error = tg_error_no_memory();
    }
    index->chunks_per_entry = 1;
    struct tg_index_entry previous = {0};
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        error = decode_entry(cursor, &previous, &index->entries[i]);
        previous = index->entries[i];
        index->count = index->capacity = (size_t)i + 1;
    }
    if (error == NULL && cursor->position != cursor->end)
        error = tg_byte_cursor_error(cursor, "end of the index", "trailing bytes");
    if (error != NULL)
        tg_trace_index_deinit(index);
    return error;
}

/* ---- kinds ---- */

enum { KINDS_KNOWN = 1, KINDS_WITH_STOPS = 2, KINDS_FLAGS = 3 };

static bool put_kinds(struct tg_byte_buffer *payload, const struct tg_kind_set *set)
{
    if (!tg_byte_buffer_reserve(payload, (2 + tg_kind_set_count(set)) * TG_VARINT_MAX_BYTES))
        return false;
    tg_byte_buffer_put_varint(payload,
                              !set->is_known ? 0 : KINDS_KNOWN | (set->any_stop ? KINDS_WITH_STOPS : 0));
    if (!set->is_known)
        return true;
    tg_byte_buffer_put_varint(payload, tg_kind_set_count(set));
    unsigned previous = 0;
    for (size_t i = 0; i < tg_event_kind_count(); i++) {
        unsigned kind = tg_event_kind_at(i);
        if (!tg_kind_set_has(set, kind))
            continue;
        tg_byte_buffer_put_varint(payload, kind - previous);
        previous = kind;
    }
    return true;
}

struct tg_error *tg_trace_index_encode_kinds(const struct tg_trace_index *index,
                                             const struct tg_byte_buffer *of, struct tg_byte_buffer *payload)
{
    if (!tg_byte_buffer_reserve(payload, 2 * TG_VARINT_MAX_BYTES))
        return tg_error_no_memory();
    tg_byte_buffer_put_varint(payload, tg_section_hash(of->data, of->size));
    tg_byte_buffer_put_varint(payload, index->count);
    for (size_t i = 0; i < index->count; i++)
        if (!put_kinds(payload, &index->entries[i].kinds))
            return tg_error_no_memory();
    return NULL;
}

static struct tg_error *decode_set(struct tg_byte_cursor *cursor, struct tg_kind_set *set)
{
    uint64_t flags = 0, count = 0, kind = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "flags of an entry", KINDS_FLAGS, &flags);
    if (error != NULL || flags == 0)
        return error;
    if ((flags & KINDS_KNOWN) == 0)
        return tg_byte_cursor_error(cursor, "flags of an entry", "stops of unknown kinds");
    set->is_known = true;
    set->any_stop = (flags & KINDS_WITH_STOPS) != 0;
    error = tg_byte_cursor_varint(cursor, "number of kinds", UINT16_MAX, &count);
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        uint64_t difference = 0;
        error = tg_byte_cursor_varint(cursor, "kind number", UINT16_MAX - kind, &difference);
        if (error == NULL && i > 0 && difference == 0)
            error = tg_byte_cursor_error(cursor, "kind number", "twice in one entry");
        kind += difference;
        tg_kind_set_add(set, (unsigned)kind);
    }
    return error;
}

struct tg_error *tg_trace_index_decode_kinds(struct tg_trace_index *index, uint64_t hash,
                                             struct tg_byte_cursor *cursor)
{
    uint64_t made_for = 0, count = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, "hash of the index", UINT64_MAX, &made_for);
    if (error == NULL)
        error = tg_byte_cursor_varint(cursor, "number of entries", TG_INDEX_MAX_ENTRIES, &count);
    bool belongs = index != NULL && made_for == hash && count == index->count;
    for (uint64_t i = 0; error == NULL && i < count; i++) {
        struct tg_kind_set set = {0};
        error = decode_set(cursor, &set);
        if (error == NULL && belongs)
            index->entries[i].kinds = set;
    }
    if (error == NULL && cursor->position != cursor->end)
        error = tg_byte_cursor_error(cursor, "end of the index by kind", "trailing bytes");
    for (uint64_t i = 0; error != NULL && belongs && i < count; i++)
        index->entries[i].kinds = (struct tg_kind_set){0};
    return error;
}
