/* Lines of output under construction: a trace has many, so their words and numbers are put together here and
 * not by printf. */
#ifndef TG_ANALYZER_DUMP_LINE_H
#define TG_ANALYZER_DUMP_LINE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Caller's storage. Text that STREAM has not got yet, of many lines: who writes to the stream itself flushes first. */
struct tg_dump_line {
    FILE *stream;
    size_t size;
    char text[1 << 16];
};

/* Places for what is known of threads. */
enum { TG_DUMP_THREADS = 1 << 10 };

static inline size_t tg_dump_thread_place(int32_t tid)
{
    return (uint32_t)tid * UINT32_C(0x9e3779b1) >> 22;
}
_Static_assert(TG_DUMP_THREADS == 1 << (32 - 22), "places are the upper bits of a product");

/* What is put into lines again and again. It is copied whole, which takes less than to copy what there is of it. */
struct tg_dump_piece {
    char text[63];
    uint8_t size;
};

enum { TG_DUMP_ROOM = 512, TG_DUMP_DIGITS = 20 }; /* digits of a number at most */

static inline void tg_dump_line_begin(struct tg_dump_line *line, FILE *stream)
{
    line->stream = stream;
    line->size = 0;
}

static inline void tg_dump_line_flush(struct tg_dump_line *line)
{
    if (line->size > 0)
        fwrite_unlocked(line->text, 1, line->size, line->stream);
    line->size = 0;
}

/* Text of any length. */
void tg_dump_line_put_long(struct tg_dump_line *line, const char *text, size_t size);

static inline void tg_dump_line_put(struct tg_dump_line *line, const char *text, size_t size)
{
    if (sizeof line->text - line->size < size) {
        tg_dump_line_put_long(line, text, size);
        return;
    }
    memcpy(line->text + line->size, text, size);
    line->size += size;
}

static inline void tg_dump_line_words(struct tg_dump_line *line, const char *words)
{
    tg_dump_line_put(line, words, strlen(words));
}

static inline void tg_dump_line_character(struct tg_dump_line *line, char character)
{
    tg_dump_line_put(line, &character, 1);
}

/* Where the line ends: at least TG_DUMP_ROOM bytes may be written there, until tg_dump_line_end is told the new end. */
static inline char *tg_dump_line_room(struct tg_dump_line *line)
{
    if (sizeof line->text - line->size < TG_DUMP_ROOM)
        tg_dump_line_flush(line);
    return line->text + line->size;
}

static inline void tg_dump_line_end(struct tg_dump_line *line, const char *end)
{
    line->size = (size_t)(end - line->text);
}

/* All of these write at TO and return the end of what they wrote. Room for a whole piece must be there. */
static inline char *tg_dump_put_piece(char *to, const struct tg_dump_piece *piece)
{
    memcpy(to, piece->text, sizeof piece->text);
    return to + piece->size;
}

/* Eight digits, of VALUE below 10^8, the first in the lowest byte: all pairs at once, then all digits. */
static inline uint64_t tg_dump_eight_digits(uint32_t value)
{
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t hundreds = ((fours * 10486) >> 20) & UINT64_C(0x7f0000007f);
    uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = ((twos * 103) >> 10) & UINT64_C(0x000f000f000f000f);
    return tens | (twos - tens * 10) << 8;
}

static inline char *tg_dump_put_eight(char *to, uint32_t value)
{
    uint64_t digits = htole64(tg_dump_eight_digits(value) | UINT64_C(0x3030303030303030));
    memcpy(to, &digits, sizeof digits);
    return to + sizeof digits;
}

/* Of VALUE below 10^8, without zeros in front. */
static inline char *tg_dump_put_few(char *to, uint32_t value)
{
    if (value < 10) {
        *to = (char)('0' + value);
        return to + 1;
    }
    uint64_t digits = tg_dump_eight_digits(value);
    unsigned zeros = (unsigned)__builtin_ctzll(digits) / 8;
    digits = htole64((digits | UINT64_C(0x3030303030303030)) >> zeros * 8);
    memcpy(to, &digits, sizeof digits);
    return to + sizeof digits - zeros;
}

static inline char *tg_dump_put_decimal(char *to, uint64_t value)
{
    enum { EIGHT = 100000000 };
    if (value < EIGHT)
        return tg_dump_put_few(to, (uint32_t)value);
    uint64_t above = value / EIGHT;
    if (above < EIGHT)
        to = tg_dump_put_few(to, (uint32_t)above);
    else
        to = tg_dump_put_eight(tg_dump_put_few(to, (uint32_t)(above / EIGHT)), (uint32_t)(above % EIGHT));
    return tg_dump_put_eight(to, (uint32_t)(value % EIGHT));
}

static inline char *tg_dump_put_signed(char *to, int64_t value)
{
    *to = '-';
    return tg_dump_put_decimal(to + (value < 0), value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* "0x1f" */
static inline char *tg_dump_put_hex(char *to, uint64_t value)
{
    static const char digits[] = "0123456789abcdef";
    size_t left = value == 0 ? 3 : 2 + (67 - (unsigned)__builtin_clzll(value)) / 4;
    char *end = to + left;
    to[0] = '0';
    to[1] = 'x';
    for (; left > 2; value >>= 4)
        to[--left] = digits[value & 15];
    return end;
}

/* Whether TEXT can stand between quotation marks as it is. Its size in *SIZE, or that of the part that can. */
static inline bool tg_dump_is_plain(const char *text, size_t *size)
{
    size_t i = 0;
    while ((unsigned char)(text[i] - 0x20) < 0x7f - 0x20 && text[i] != '"' && text[i] != '\\')
        i++;
    *size = i;
    return text[i] == '\0';
}

/* VALUE with at least DIGITS digits (1 to 20), zeros in front. */
void tg_dump_line_decimal(struct tg_dump_line *line, uint64_t value, unsigned digits);
void tg_dump_line_signed(struct tg_dump_line *line, int64_t value);
/* "0x1f" */
void tg_dump_line_hex(struct tg_dump_line *line, uint64_t value);

#endif
