/* A bounds-checked cursor over bytes from outside; its errors know file, offset and field. */
#ifndef TG_FORMAT_BASE_BYTE_CURSOR_H
#define TG_FORMAT_BASE_BYTE_CURSOR_H

#include "format/base/byte_buffer.h"
#include "format/base/error.h"

/* After the end of any buffer that varints are read from, this many readable bytes follow (their value is of
 * no account). */
enum { TG_CURSOR_PADDING = 16 };

/* Source of bytes, for messages; lives as long as the cursors that point to it. */
struct tg_byte_source {
    const char *file;
    uint64_t chunk_offset; /* of the section in the file */
    const char *section;   /* name of the section, for messages */
    const uint8_t *start;  /* of the decompressed payload */
};

/* Caller's storage. [position, end) is not read yet. */
struct tg_byte_cursor {
    const uint8_t *position;
    const uint8_t *end;
    const struct tg_byte_source *source;
};

/* INPUT error: "FILE: SECTION at offset N: FIELD (byte M of the payload): WHAT". */
struct tg_error *tg_byte_cursor_error(const struct tg_byte_cursor *cursor, const char *field,
                                      const char *what);

/* Reads a varint that must lie in [0, LIMIT]. */
struct tg_error *tg_byte_cursor_varint(struct tg_byte_cursor *cursor, const char *field, uint64_t limit,
                                       uint64_t *value);

/* Takes the next varint as a byte length and gives that many bytes as a cursor of their own. */
struct tg_error *tg_byte_cursor_column(struct tg_byte_cursor *cursor, const char *field,
                                       struct tg_byte_cursor *column);

/* One varint from [FROM, END), of which TG_CURSOR_PADDING bytes beyond END are readable. Returns the position
 * after it, or NULL where it runs past END, is longer than ten bytes or does not fit 64 bits. */
static inline const uint8_t *tg_varint_get(const uint8_t *from, const uint8_t *end, uint64_t *value)
{
    if (from >= end)
        return NULL;
    if (*from < 0x80) {
        *value = *from;
        return from + 1;
    }
    uint64_t word = tg_load_le(from, 8);
    uint64_t stops = ~word & UINT64_C(0x8080808080808080);
    if (__builtin_expect(stops != 0, 1)) {
        /* All bytes up to the one without a high bit, then their groups of seven bits moved together. */
        word &= (stops ^ (stops - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
        word = (word & UINT64_C(0x007f007f007f007f)) | ((word & UINT64_C(0x7f007f007f007f00)) >> 1);
        word = (word & UINT64_C(0x00003fff00003fff)) | ((word & UINT64_C(0x3fff00003fff0000)) >> 2);
        word = (word & UINT64_C(0x000000000fffffff)) | ((word & UINT64_C(0x0fffffff00000000)) >> 4);
        from += ((unsigned)__builtin_ctzll(stops) >> 3) + 1;
    } else {
        uint64_t low = 0;
        for (unsigned i = 0; i < 8; i++)
            low |= (uint64_t)(from[i] & 0x7f) << (7 * i);
        low |= (uint64_t)(from[8] & 0x7f) << 56;
        if (from[8] < 0x80) {
            from += 9;
        } else if (from[9] <= 1) {
            low |= (uint64_t)from[9] << 63;
            from += 10;
        } else {
            return NULL;
        }
        word = low;
    }
    if (from > end)
        return NULL;
    *value = word;
    return from;
}

#endif
