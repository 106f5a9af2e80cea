#include "format/trace/section.h"

#include <xxhash.h>

/* zstd's skippable frames: sixteen magic numbers, then the size of what follows. A trace is thus a sequence
 * of frames that zstd's own tools accept. */
enum { SECTION_FRAME = 0x184d2a54, TRAILER_FRAME = 0x184d2a55 };

static const uint8_t magic[8] = {'t', 'o', 'l', 'l', 'g', 'a', 't', 'e'};
static const uint8_t trailer_magic[8] = {'t', 'g', '-', 'i', 'n', 'd', 'e', 'x'};

uint64_t tg_section_hash(const uint8_t *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

void tg_section_header_encode(struct tg_section_header *header, const uint8_t *payload,
                              uint8_t bytes[TG_SECTION_HEADER_BYTES])
{
    header->payload_hash = tg_section_hash(payload, header->compressed_bytes);
    tg_store_le(bytes, SECTION_FRAME, 4);
    tg_store_le(bytes + 4, TG_SECTION_HEADER_BYTES - 8, 4);
    memcpy(bytes + 8, magic, sizeof magic);
    tg_store_le(bytes + 16, header->major, 2);
    tg_store_le(bytes + 18, header->minor, 2);
    tg_store_le(bytes + 20, header->kind, 2);
    tg_store_le(bytes + 22, header->flags, 2);
    tg_store_le(bytes + 24, header->compressed_bytes, 4);
    tg_store_le(bytes + 28, header->raw_bytes, 4);
    tg_store_le(bytes + 32, header->n_events, 4);
    tg_store_le(bytes + 36, header->sequence, 4);
    tg_store_le(bytes + 40, header->first_time_ns, 8);
    tg_store_le(bytes + 48, header->last_time_ns, 8);
    tg_store_le(bytes + 56, header->payload_hash, 8);
    tg_store_le(bytes + 64, tg_section_hash(bytes, 64), 8);
}

enum tg_section_check tg_section_header_decode(const uint8_t bytes[TG_SECTION_HEADER_BYTES],
                                               struct tg_section_header *header)
{
    uint64_t index_offset;
    if (tg_trailer_decode(bytes, &index_offset))
        return TG_SECTION_TRAILER;
    if (tg_load_le(bytes, 4) != SECTION_FRAME || tg_load_le(bytes + 4, 4) != TG_SECTION_HEADER_BYTES - 8 ||
        memcmp(bytes + 8, magic, sizeof magic) != 0)
        return TG_SECTION_NO_MAGIC;
    if (tg_load_le(bytes + 64, 8) != tg_section_hash(bytes, 64))
        return TG_SECTION_BAD_HASH;
    *header = (struct tg_section_header){
        .major = (unsigned)tg_load_le(bytes + 16, 2),
        .minor = (unsigned)tg_load_le(bytes + 18, 2),
        .kind = (unsigned)tg_load_le(bytes + 20, 2),
        .flags = (unsigned)tg_load_le(bytes + 22, 2),
        .compressed_bytes = (uint32_t)tg_load_le(bytes + 24, 4),
        .raw_bytes = (uint32_t)tg_load_le(bytes + 28, 4),
        .n_events = (uint32_t)tg_load_le(bytes + 32, 4),
        .sequence = (uint32_t)tg_load_le(bytes + 36, 4),
        .first_time_ns = tg_load_le(bytes + 40, 8),
        .last_time_ns = tg_load_le(bytes + 48, 8),
        .payload_hash = tg_load_le(bytes + 56, 8),
    };
    unsigned known_flags = header->kind == TG_SECTION_EVENTS ? TG_SECTION_BY_THREAD : 0;
    if (header->major > TG_TRACE_MAJOR || (header->flags & TG_SECTION_REQUIRED_FLAGS & ~known_flags) != 0)
        return TG_SECTION_NEWER_VERSION;
    if (header->compressed_bytes > TG_SECTION_MAX_COMPRESSED_BYTES ||
        header->raw_bytes > TG_SECTION_MAX_RAW_BYTES || header->n_events > TG_CHUNK_MAX_EVENTS)
        return TG_SECTION_BAD_SIZE;
    return TG_SECTION_FINE;
}

bool tg_section_has_magic(const uint8_t *bytes)
{
    return memcmp(bytes + 8, magic, sizeof magic) == 0;
}

bool tg_section_may_begin(const uint8_t *bytes, size_t size)
{
    uint8_t section[16], trailer[16];
    tg_store_le(section, SECTION_FRAME, 4);
    tg_store_le(section + 4, TG_SECTION_HEADER_BYTES - 8, 4);
    memcpy(section + 8, magic, sizeof magic);
    tg_store_le(trailer, TRAILER_FRAME, 4);
    tg_store_le(trailer + 4, TG_TRAILER_BYTES - 8, 4);
    memcpy(trailer + 8, trailer_magic, sizeof trailer_magic);
    size_t n = size < sizeof section ? size : sizeof section;
    return memcmp(bytes, section, n) == 0 || memcmp(bytes, trailer, n) == 0;
}

const char *tg_section_check_text(enum tg_section_check check)
{
    switch (check) {
    case TG_SECTION_FINE:
        return "fine";
    case TG_SECTION_TRAILER:
        return "trailer before the end of the file";
    case TG_SECTION_NO_MAGIC:
        return "no section at this offset";
    case TG_SECTION_BAD_HASH:
        return "checksum mismatch in the section header";
    case TG_SECTION_NEWER_VERSION:
        return "written by a newer version of tollgate: unknown format";
    case TG_SECTION_BAD_SIZE:
        return "a size in the section header exceeds its limit";
    }
    return "?";
}

const char *tg_section_name(unsigned kind)
{
    switch (kind) {
    case TG_SECTION_META:
        return "META";
    case TG_SECTION_EVENTS:
        return "EVENTS";
    case TG_SECTION_INDEX:
        return "INDEX";
    case TG_SECTION_KINDS:
        return "KINDS";
    default:
        return "unknown";
    }
}

void tg_trailer_encode(uint64_t index_offset, uint8_t bytes[TG_TRAILER_BYTES])
{
    tg_store_le(bytes, TRAILER_FRAME, 4);
    tg_store_le(bytes + 4, TG_TRAILER_BYTES - 8, 4);
    memcpy(bytes + 8, trailer_magic, sizeof trailer_magic);
    tg_store_le(bytes + 16, index_offset, 8);
    tg_store_le(bytes + 24, tg_section_hash(bytes, 24), 8);
}

bool tg_trailer_decode(const uint8_t bytes[TG_TRAILER_BYTES], uint64_t *index_offset)
{
    if (tg_load_le(bytes, 4) != TRAILER_FRAME || tg_load_le(bytes + 4, 4) != TG_TRAILER_BYTES - 8 ||
        memcmp(bytes + 8, trailer_magic, sizeof trailer_magic) != 0 ||
        tg_load_le(bytes + 24, 8) != tg_section_hash(bytes, 24))
        return false;
    *index_offset = tg_load_le(bytes + 16, 8);
    return true;
}
