/* A column of numbers in a trace: byte planes, and the few values that need more of them. */
#ifndef TG_FORMAT_PACKED_COLUMN_H
#define TG_FORMAT_PACKED_COLUMN_H

#include "format/byte_cursor.h"

#include <stdbool.h>

/*
 * In the file a column is a varint byte length and as many bytes: none where all values are zero, otherwise a
 * width w in [0, 8], the exceptions, and w planes of n bytes: byte i of plane p is bits [8p, 8p+8) of value
 * i. An exception is two varints: how many values lie between it and the one before (for the first: before
 * it), and the value, which replaces what the planes have. Planes of numbers compress and decode better than
 * numbers of many lengths in a row.
 */
struct tg_packed_column {
    const uint8_t *planes;
    uint64_t count; /* values */
    uint64_t taken; /* handed out so far */
    unsigned width;
    struct tg_byte_cursor exceptions;
    uint64_t next_exception; /* its index, COUNT or more where there is none */
    uint64_t exception_value;
    uint64_t previous; /* for whoever takes differences: the value before; 0 at first */
};

/*
 * Appends the column of the N values to BYTES; BOUNDARIES gets the offset in BYTES of each plane (as
 * tg_chunk_encoder_serialize says). False where memory is short.
 */
bool tg_packed_column_write(struct tg_byte_buffer *bytes, struct tg_byte_buffer *boundaries,
                            const uint64_t *values, size_t n);

/* Takes a column of COUNT values from CURSOR. FIELD is its name for errors. */
struct tg_error *tg_packed_column_open(struct tg_byte_cursor *cursor, const char *field, uint64_t count,
                                       struct tg_packed_column *column);

/* The next N values (the caller sees to it that there are as many); false where the exceptions are malformed.
 */
bool tg_packed_column_take(struct tg_packed_column *column, uint64_t *values, size_t n);

#endif
