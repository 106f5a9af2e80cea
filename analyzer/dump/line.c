#include "analyzer/dump/line.h"

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

void tg_dump_line_decimal(struct tg_dump_line *line, uint64_t value, unsigned digits)
{
    char written[TG_DUMP_DIGITS + 8];
    size_t needed = (size_t)(tg_dump_put_decimal(written, value) - written);
    size_t zeros = needed < digits ? digits - needed : 0;
    char *to = take(line, zeros + needed);
    memset(to, '0', zeros);
    memcpy(to + zeros, written, needed);
}

void tg_dump_line_signed(struct tg_dump_line *line, int64_t value)
{
    if (value < 0)
        tg_dump_line_character(line, '-');
    tg_dump_line_decimal(line, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

void tg_dump_line_hex(struct tg_dump_line *line, uint64_t value)
{
    char written[TG_DUMP_DIGITS];
    tg_dump_line_put(line, written, (size_t)(tg_dump_put_hex(written, value) - written));
}
