#include "analyzer/dump/line.h"

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                            "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

void tg_dump_line_put_long(struct tg_dump_line *line, const char *text, size_t size)
{
    tg_dump_line_flush(line);
    if (size > sizeof line->text) {
        fwrite_unlocked(text, 1, size, line->stream);
        return;
    }
    memcpy(line->text, text, size);
    line->size = size;
}

/* Room for SIZE bytes, which are few, at the end of the line. */
static char *take(struct tg_dump_line *line, size_t size)
{
    if (sizeof line->text - line->size < size)
        tg_dump_line_flush(line);
    line->size += size;
    return line->text + line->size - size;
}

static unsigned count_digits(uint64_t value)
{
    unsigned digits = 1;
    for (; value >= 10000; value /= 10000)
        digits += 4;
    return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

void tg_dump_line_decimal(struct tg_dump_line *line, uint64_t value, unsigned digits)
{
    unsigned needed = count_digits(value);
    size_t left = needed > digits ? needed : digits;
    char *to = take(line, left);
    for (; value >= 100; value /= 100) {
        left -= 2;
        memcpy(to + left, &pairs[value % 100 * 2], 2);
    }
    if (value >= 10) {
        left -= 2;
        memcpy(to + left, &pairs[value * 2], 2);
    } else {
        to[--left] = (char)('0' + value);
    }
    while (left > 0)
        to[--left] = '0';
}

void tg_dump_line_signed(struct tg_dump_line *line, int64_t value)
{
    if (value < 0)
        tg_dump_line_character(line, '-');
    tg_dump_line_decimal(line, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

void tg_dump_line_hex(struct tg_dump_line *line, uint64_t value)
{
    static const char digits[] = "0123456789abcdef";
    size_t left = value == 0 ? 3 : 2 + (67 - (unsigned)__builtin_clzll(value)) / 4;
    char *to = take(line, left);
    for (; left > 2; value >>= 4)
        to[--left] = digits[value & 15];
    to[0] = '0';
    to[1] = 'x';
}

void tg_dump_line_pad(struct tg_dump_line *line, size_t start, size_t width)
{
    size_t used = line->size - start;
    if (used < width)
        memset(take(line, width - used), ' ', width - used);
}
