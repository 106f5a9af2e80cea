#include "analyzer/output/paragraph.h"

#include <stdbool.h>
#include <string.h>

/* Characters of the SIZE bytes at TEXT, which is UTF-8. */
static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

void tg_paragraph_write(FILE *stream, size_t columns, const char *label, const char *text)
{
    enum { LEAST = 20 };
    size_t indent = label == NULL ? 0 : strlen(label), at = indent;
    fputs(label == NULL ? "" : label, stream);
    if (columns != 0 && columns < indent + LEAST)
        columns = indent + LEAST;
    for (bool is_first = true; *text != '\0'; is_first = false) {
        size_t size = strcspn(text, " "), width = count_characters(text, size);
        if (!is_first && columns != 0 && at + 1 + width > columns) {
            fprintf(stream, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!is_first) {
            fputc(' ', stream);
            at++;
        }
        fwrite(text, 1, size, stream);
        at += width;
        text += size;
        text += *text == ' ';
    }
    fputc('\n', stream);
}

void tg_paragraph_write_all(FILE *stream, size_t columns, char *text)
{
    while (*text != '\0') {
        char *end = strchrnul(text, '\n');
        bool is_last = *end == '\0';
        *end = '\0';
        tg_paragraph_write(stream, columns, NULL, text);
        text = is_last ? end : end + 1;
    }
}
