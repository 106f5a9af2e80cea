/* Lines of output under construction: a trace has many, so their words and numbers are put together here and
 * not by printf. */
#ifndef TG_ANALYZER_DUMP_LINE_H
#define TG_ANALYZER_DUMP_LINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Caller's storage. Text that STREAM has not got yet: who writes to the stream itself flushes first. */
struct tg_dump_line {
    FILE *stream;
    size_t size;
    char text[8192];
};

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

/* VALUE with at least DIGITS digits (1 to 20), zeros in front. */
void tg_dump_line_decimal(struct tg_dump_line *line, uint64_t value, unsigned digits);
void tg_dump_line_signed(struct tg_dump_line *line, int64_t value);
/* "0x1f" */
void tg_dump_line_hex(struct tg_dump_line *line, uint64_t value);

/* Spaces until WIDTH characters stand behind START (a size of the line, which was not flushed since). */
void tg_dump_line_pad(struct tg_dump_line *line, size_t start, size_t width);

#endif
