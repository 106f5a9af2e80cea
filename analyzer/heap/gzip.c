#include "analyzer/heap/gzip.h"

#include <stdbool.h>

enum { MAX_STORED = 65535 }; /* bytes of a stored block of deflate (RFC 1951) */

static uint32_t crc_of(const uint8_t *data, size_t size)
{
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT32_C(0xedb88320) : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static void put_little(FILE *stream, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        putc((int)(value >> (8 * i) & 0xff), stream);
}

void tg_gzip_write(FILE *stream, const uint8_t *data, size_t size)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}; /* deflate, no time, no system */
    fwrite(header, 1, sizeof header, stream);
    size_t at = 0;
    bool is_last;
    do {
        size_t stored = size - at < MAX_STORED ? size - at : MAX_STORED;
        is_last = at + stored == size;
        putc(is_last, stream);
        put_little(stream, (uint32_t)stored, 2);
        put_little(stream, ~(uint32_t)stored, 2);
        if (stored > 0)
            fwrite(data + at, 1, stored, stream);
        at += stored;
    } while (!is_last);
    put_little(stream, crc_of(data, size), 4);
    put_little(stream, (uint32_t)size, 4);
}
