/* The frame around everything in a trace file: one section, its fixed header, its compressed payload. */
#ifndef TG_FORMAT_TRACE_SECTION_H
#define TG_FORMAT_TRACE_SECTION_H

#include "format/base/byte_buffer.h"
#include "format/base/error.h"

#include <stdint.h>

enum {
    TG_TRACE_MAJOR = 1, /* a reader refuses newer ones */
    TG_TRACE_MINOR = 1, /* newer ones only add what this reader may skip */

    TG_SECTION_HEADER_BYTES = 72,
    TG_TRAILER_BYTES = 32,

    /* Limits, the same for writing and reading. */
    TG_SECTION_MAX_RAW_BYTES = 16 << 20,        /* payload, decompressed */
    TG_SECTION_MAX_COMPRESSED_BYTES = 17 << 20, /* payload, as stored */
    TG_CHUNK_MAX_EVENTS = 1 << 20,
    TG_CHUNK_MAX_LIST_ITEMS = 1 << 20, /* of all lists of all events of a chunk */
    TG_CHUNK_MAX_STRINGS = 1 << 21,
    TG_CHUNK_MAX_KINDS = 256,
    TG_CHUNK_MAX_ROWS = 1 << 14, /* payloads of one kind that are stored once and indexed */
    TG_CHUNK_MAX_FIELDS = 64,    /* of one kind, or of one list element */
    TG_STRING_MAX_BYTES = 1 << 20,
    TG_EVENT_MAX_TEXT_BYTES = 16 << 20, /* of all items of a list, counted each time that they occur */
};

enum tg_section_kind {
    TG_SECTION_META = 1,
    TG_SECTION_EVENTS = 2,
    TG_SECTION_INDEX = 3,
    TG_SECTION_KINDS = 4,
};

/* Flags. Of the low eight bits a reader must know every one that is set; the others may be ignored. */
enum {
    TG_SECTION_BY_THREAD = 0x0001, /* EVENTS: payload in the order of threads (since 1.1) */
    TG_SECTION_REQUIRED_FLAGS = 0x00ff,
    TG_SECTION_SKIPPABLE = 0x0100, /* a reader that does not know the kind passes over the section */
};

struct tg_section_header {
    unsigned major, minor;
    unsigned kind; /* enum tg_section_kind, or one not known here */
    unsigned flags;
    uint32_t compressed_bytes;
    uint32_t raw_bytes;
    uint32_t n_events;
    uint32_t sequence; /* number of the section in its file, from 0 */
    uint64_t first_time_ns;
    uint64_t last_time_ns;
    uint64_t payload_hash; /* XXH3 of the compressed payload, set by encode */
};

/* Writes HEADER for the payload PAYLOAD of header->compressed_bytes bytes. */
void tg_section_header_encode(struct tg_section_header *header, const uint8_t *payload,
                              uint8_t bytes[TG_SECTION_HEADER_BYTES]);

enum tg_section_check {
    TG_SECTION_FINE,
    TG_SECTION_TRAILER,       /* no section: the trailer behind the last one */
    TG_SECTION_NO_MAGIC,      /* not the beginning of a section */
    TG_SECTION_BAD_HASH,      /* damaged */
    TG_SECTION_NEWER_VERSION, /* major version, or a required flag, that is not known here */
    TG_SECTION_BAD_SIZE,      /* a size beyond the limits */
};

/* Reads the header. *HEADER is filled except for NO_MAGIC, TRAILER and BAD_HASH. */
enum tg_section_check tg_section_header_decode(const uint8_t bytes[TG_SECTION_HEADER_BYTES],
                                               struct tg_section_header *header);

/* Whether the 16 bytes or more at BYTES begin as a section's header does. */
bool tg_section_has_magic(const uint8_t *bytes);

/* Whether SIZE bytes (possibly few) can be the beginning of a section or of the trailer. */
bool tg_section_may_begin(const uint8_t *bytes, size_t size);

/* CHECK in words, for messages. */
const char *tg_section_check_text(enum tg_section_check check);

/* "META", "EVENTS", "INDEX", "KINDS", otherwise "unknown". */
const char *tg_section_name(unsigned kind);

uint64_t tg_section_hash(const uint8_t *bytes, size_t size);

enum { TG_SECTION_MAGIC_OFFSET = 8 };

/* The trailer says where the INDEX section begins. */
void tg_trailer_encode(uint64_t index_offset, uint8_t bytes[TG_TRAILER_BYTES]);
bool tg_trailer_decode(const uint8_t bytes[TG_TRAILER_BYTES], uint64_t *index_offset);

/* Whether a file may hold EVENTS in its first BYTES: no recording has times so regular that hundreds of events
 * fit a byte, and a few kilobytes must not keep a reader busy with billions. */
static inline bool tg_trace_may_hold(uint64_t events, uint64_t bytes)
{
    enum { AT_ONCE = 1 << 24, PER_BYTE = 64 };
    return events <= AT_ONCE || events - AT_ONCE <= bytes * PER_BYTE;
}

#endif
