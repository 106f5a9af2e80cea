#include "analyzer/sequence/format.h"

#include <stdlib.h>
#include <string.h>

static const struct tg_sequence_format *const formats[] = {
    &tg_sequence_svg, &tg_sequence_html, &tg_sequence_seqdiag, &tg_sequence_mermaid, &tg_sequence_plantuml,
};

/* Counts UTF-16 units: one for each character, two for one beyond the first plane. */
static uint64_t count_characters(const char *text, size_t size)
{
    uint64_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80 ? 1 + ((unsigned char)text[i] >= 0xf0) : 0;
    return count;
}

struct tg_error *tg_sequence_format_write(const struct tg_sequence_format *format,
                                          const struct tg_sequence_drawing *drawing, FILE *stream,
                                          uint64_t *n_characters)
{
    char *text = NULL;
    size_t size = 0;
    *n_characters = 0;
    if (format->max_characters == 0)
        return format->write(drawing, stream);
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        return tg_error_no_memory();
    struct tg_error *error = format->write(drawing, memory);
    bool is_whole = !ferror(memory);
    if ((fclose(memory) != 0 || !is_whole) && error == NULL)
        error = tg_error_no_memory();
    if (error == NULL) {
        *n_characters = count_characters(text, size);
        fwrite(text, 1, size, stream);
    }
    free(text);
    return error;
}

size_t tg_sequence_format_count(void)
{
    return sizeof formats / sizeof(struct tg_sequence_format *);
}

const struct tg_sequence_format *tg_sequence_format_at(size_t i)
{
    return formats[i];
}

const struct tg_sequence_format *tg_sequence_format_find(const char *name)
{
    for (size_t i = 0; i < tg_sequence_format_count(); i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}
