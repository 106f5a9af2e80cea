/* A column of numbers in a trace: byte planes, and the few values that need more of them. */
#ifndef TG_FORMAT_TRACE_PACKED_COLUMN_H
#define TG_FORMAT_TRACE_PACKED_COLUMN_H

#include "format/base/byte_cursor.h"

#include <stdbool.h>

/* Contents of a column: the values, the zigzag of each, or that of the difference of each to the one before
 * (of the first: to 0). */
enum tg_column_form { TG_COLUMN_PLAIN, TG_COLUMN_ZIGZAG, TG_COLUMN_DIFFERENCES };

/* In the file a column is a varint byte length and as many bytes: none where all values are zero, otherwise a
 * width w in [0, 8], the exceptions, and w planes of n bytes: byte i of plane p is bits [8p, 8p+8) of value
 * i. An exception is two varints: how many values lie between it and the one before (for the first: before
 * it), and the value, which replaces what the planes have. Planes of numbers compress and decode better than
 * numbers of many lengths in a row. From bit 4 on the
 * width's byte holds the form. */
struct tg_packed_column {
    const uint8_t *planes;
    uint64_t count; /* values */
    uint64_t taken; /* handed out so far */
    unsigned width;
    enum tg_column_form form;
    struct tg_byte_cursor exceptions;
    uint64_t next_exception; /* index of the next exception, COUNT or more where there is none */
    uint64_t exception_value;
    uint64_t previous; /* the value before, where differences are kept; 0 at first */
};

/* Bytes that VALUE needs, 0 for 0. */
static inline unsigned tg_packed_column_width(uint64_t value)
{
    return value == 0 ? 0 : (71 - (unsigned)__builtin_clzll(value)) / 8;
}

/* Appends the column of the N values to BYTES; BOUNDARIES gets the offset in BYTES of each plane (as
 * tg_chunk_serialize says). False where memory is short. */
bool tg_packed_column_write(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                            const uint64_t *values, size_t n);

/* The same column, of VALUES that are bytes. */
bool tg_packed_column_write_bytes(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                                  const uint8_t *values, size_t n);

/* Likewise, in the form up to LAST that has the smallest numbers; VALUES may be overwritten. */
bool tg_packed_column_write_smallest(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                                     uint64_t *values, size_t n, enum tg_column_form last);

/* The column of N times VALUE, as differences: the first one is an exception. */
bool tg_packed_column_write_same(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                                 uint64_t value, size_t n);

/* Takes a column of COUNT values from CURSOR. FIELD is its name for errors. MAY_DIFFER: differences are
 * allowed. */
struct tg_error *tg_packed_column_open(struct tg_byte_cursor *cursor, const char *field, uint64_t count,
                                       bool any_form, struct tg_packed_column *column);

/* Whether all its values are 0, as far as that is seen without reading them. */
static inline bool tg_packed_column_is_zero(const struct tg_packed_column *column)
{
    return column->width == 0 && column->next_exception >= column->count;
}

/* If the next N values are one and the same, and that can be seen without reading them: passes over all
 * but the last of them, which is left to be taken. */
static inline bool tg_packed_column_skip(struct tg_packed_column *column, uint64_t n)
{
    if (column->width > 0 || column->next_exception < column->taken + n)
        return false;
    column->taken += n - 1;
    return true;
}

/* The next N values (the caller sees to it that there are as many); false where the exceptions are
 * malformed. */
bool tg_packed_column_take(struct tg_packed_column *column, uint64_t *values, size_t n);

#endif
