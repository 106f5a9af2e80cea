/* A growable byte buffer for output, and the integer forms of the trace file. */
#ifndef TG_FORMAT_BASE_BYTE_BUFFER_H
#define TG_FORMAT_BASE_BYTE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Caller's storage; all zero is an empty buffer. */
struct tg_byte_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

enum { TG_VARINT_MAX_BYTES = 10 };

void tg_byte_buffer_deinit(struct tg_byte_buffer *buffer);

/* Makes the capacity at least NEEDED bytes; false where memory is short (the buffer is unchanged then). */
bool tg_byte_buffer_grow(struct tg_byte_buffer *buffer, size_t needed);

/* Room for EXTRA more bytes, so that as many can be put without another check. */
static inline bool tg_byte_buffer_reserve(struct tg_byte_buffer *buffer, size_t extra)
{
    return buffer->capacity - buffer->size >= extra || tg_byte_buffer_grow(buffer, buffer->size + extra);
}

/* The put functions need room reserved before. */

/* Unsigned LEB128: seven bits a byte, low bits first, the high bit set on all but the last byte. */
static inline void tg_byte_buffer_put_varint(struct tg_byte_buffer *buffer, uint64_t value)
{
    uint8_t *to = buffer->data + buffer->size;
    if (value < 0x80) { /* most of them */
        *to = (uint8_t)value;
        buffer->size++;
        return;
    }
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    buffer->size = (size_t)(to - buffer->data);
}

/* How many bytes that takes. */
static inline unsigned tg_varint_bytes(uint64_t value)
{
    return ((unsigned)(63 ^ __builtin_clzll(value | 1)) * 9 + 73) /
           64; /* bits / 7, rounded up, without the division */
}

static inline void tg_byte_buffer_put(struct tg_byte_buffer *buffer, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
}

/* Fixed-width little-endian numbers, byte by byte. */
static inline void tg_store_le(uint8_t *to, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = 0; i < n_bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t tg_load_le(const uint8_t *from, unsigned n_bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

/* Small numbers of either sign become small unsigned ones: 0, -1, 1, -2, ... are 0, 1, 2, 3, ... */
static inline uint64_t tg_zigzag(uint64_t two_complement)
{
    return (two_complement << 1) ^ (0 - (two_complement >> 63));
}

static inline uint64_t tg_unzigzag(uint64_t coded)
{
    return (coded >> 1) ^ (0 - (coded & 1));
}

#endif
