#include "format/trace/found_index.h"

#include <unistd.h>

/* What the sections are read with, one after the other. */
struct look {
    int fd;
    struct tg_section_codec *codec;
    struct tg_byte_buffer compressed, raw; /* RAW: the payload of the section that was read last */
    struct tg_byte_source source;
};

static bool read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
    return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* The header of the section at OFFSET; false: none that can be read. */
static bool read_header(const struct look *look, uint64_t offset, struct tg_section_header *header)
{
    uint8_t bytes[TG_SECTION_HEADER_BYTES];
    return read_at(look->fd, offset, bytes, sizeof bytes) &&
           tg_section_header_decode(bytes, header) == TG_SECTION_FINE;
}

/* Reads and decompresses the payload of the section at OFFSET with HEADER. *CURSOR: over all of it. */
static bool read_payload(struct look *look, uint64_t offset, const struct tg_section_header *header,
                         struct tg_byte_cursor *cursor)
{
    look->compressed.size = 0;
    if (!tg_byte_buffer_reserve(&look->compressed, (size_t)header->compressed_bytes + 1) ||
        !read_at(look->fd, offset + TG_SECTION_HEADER_BYTES, look->compressed.data, header->compressed_bytes))
        return false;
    struct tg_error *error = tg_section_codec_unpack(look->codec, header, look->compressed.data, &look->raw);
    bool is_fine = error == NULL;
    tg_error_destroy(error);
    if (!is_fine)
        return false;
    look->source = (struct tg_byte_source){.file = "", /* nobody is told what is wrong */
                                           .chunk_offset = offset,
                                           .section = tg_section_name(header->kind),
                                           .start = look->raw.data};
    *cursor = (struct tg_byte_cursor){look->raw.data, look->raw.data + look->raw.size, &look->source};
    return true;
}

/* The index section, which ends where the trailer begins. */
static bool read_index(struct look *look, uint64_t size, struct tg_found_index *found)
{
    struct tg_section_header header;
    struct tg_byte_cursor cursor;
    if (!read_header(look, found->offset, &header) || header.kind != TG_SECTION_INDEX ||
        found->offset + TG_SECTION_HEADER_BYTES + header.compressed_bytes + TG_TRAILER_BYTES != size ||
        !read_payload(look, found->offset, &header, &cursor))
        return false;
    struct tg_error *error = tg_trace_index_decode(&found->index, &cursor);
    bool is_fine = error == NULL && header.sequence == (uint32_t)found->index.sections;
    tg_error_destroy(error);
    return is_fine;
}

/* Reads the KINDS section, which is the last one before INDEX, for the index whose payload LOOK has. START: where the second
 * section begins. */
static void read_kinds(struct look *look, uint64_t start, struct tg_found_index *found)
{
    const struct tg_trace_index *index = &found->index;
    uint64_t hash = tg_section_hash(look->raw.data, look->raw.size);
    uint64_t offset = index->count == 0 ? start : index->entries[index->count - 1].offset;
    while (offset >= start && offset < found->offset) {
        struct tg_section_header header;
        struct tg_byte_cursor cursor;
        if (!read_header(look, offset, &header))
            return;
        uint64_t end = offset + TG_SECTION_HEADER_BYTES + header.compressed_bytes;
        if (header.kind == TG_SECTION_KINDS && end == found->offset) {
            if (read_payload(look, offset, &header, &cursor))
                tg_error_destroy(tg_trace_index_decode_kinds(&found->index, hash, &cursor));
            return;
        }
        offset = end;
    }
}

static void sum(struct tg_found_index *found)
{
    const struct tg_trace_index *index = &found->index;
    found->chunks = tg_trace_index_chunks(index);
    found->events = tg_trace_index_events(index);
    for (size_t i = 0; i < index->count; i++) {
        const struct tg_index_entry *entry = &index->entries[i];
        if (i == 0 || entry->first_time_ns < found->first_time_ns)
            found->first_time_ns = entry->first_time_ns;
        if (entry->last_time_ns > found->last_time_ns)
            found->last_time_ns = entry->last_time_ns;
    }
}

void tg_found_index_look(struct tg_found_index *found, int fd, uint64_t size, uint64_t start,
                         struct tg_section_codec *codec)
{
    uint8_t trailer[TG_TRAILER_BYTES];
    if (size < start + TG_SECTION_HEADER_BYTES + TG_TRAILER_BYTES ||
        !read_at(fd, size - sizeof trailer, trailer, sizeof trailer) ||
        !tg_trailer_decode(trailer, &found->offset) || found->offset < start ||
        found->offset > size - TG_TRAILER_BYTES - TG_SECTION_HEADER_BYTES)
        return;
    struct look look = {.fd = fd, .codec = codec};
    found->is_whole = read_index(&look, size, found);
    if (found->is_whole) {
        sum(found);
        read_kinds(&look, start, found);
    }
    tg_byte_buffer_deinit(&look.compressed);
    tg_byte_buffer_deinit(&look.raw);
}

void tg_found_index_deinit(struct tg_found_index *found)
{
    tg_trace_index_deinit(&found->index);
}
