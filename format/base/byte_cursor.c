#include "format/base/byte_cursor.h"

#include <inttypes.h>

struct tg_error *tg_byte_cursor_error(const struct tg_byte_cursor *cursor, const char *field,
                                      const char *what)
{
    return tg_error_create(TG_ERROR_INPUT,
                           "%s: %s section at offset %" PRIu64 ": %s (byte %td of the payload): %s",
                           cursor->source->file, cursor->source->section, cursor->source->chunk_offset, field,
                           cursor->position - cursor->source->start, what);
}

struct tg_error *tg_byte_cursor_varint(struct tg_byte_cursor *cursor, const char *field, uint64_t limit,
                                       uint64_t *value)
{
    uint64_t read = 0;
    const uint8_t *next = tg_varint_get(cursor->position, cursor->end, &read);
    if (next == NULL)
        return tg_byte_cursor_error(cursor, field, "truncated or overlong number");
    if (read > limit)
        return tg_byte_cursor_error(cursor, field, "number beyond its limit");
    cursor->position = next;
    *value = read;
    return NULL;
}

struct tg_error *tg_byte_cursor_column(struct tg_byte_cursor *cursor, const char *field,
                                       struct tg_byte_cursor *column)
{
    uint64_t size = 0;
    struct tg_error *error = tg_byte_cursor_varint(cursor, field, UINT64_MAX, &size);
    if (error != NULL)
        return error;
    if (size > (uint64_t)(cursor->end - cursor->position))
        return tg_byte_cursor_error(cursor, field, "column longer than the rest of the section");
    *column = (struct tg_byte_cursor){cursor->position, cursor->position + size, cursor->source};
    cursor->position += size;
    return NULL;
}
