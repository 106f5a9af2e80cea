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

/* Writes TEXT from column AT on; further lines begin at INDENT. */
static void write_words(FILE *stream, size_t columns, size_t at, size_t indent, const char *text)
{
    enum { LEAST = 20 };
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

void tg_paragraph_write(FILE *stream, size_t columns, const char *label, const char *text)
{
    size_t indent = label == NULL ? 0 : strlen(label);
    fputs(label == NULL ? "" : label, stream);
    write_words(stream, columns, indent, indent, text);
}

void tg_paragraph_write_all(FILE *stream, size_t columns, char *text)
{
    while (*text != '\0') {
        char *end = strchrnul(text, '\n');
        bool is_last = *end == '\0';
        *end = '\0';
        size_t blanks = strspn(text, " ");
        fprintf(stream, "%*s", (int)blanks, "");
        write_words(stream, columns, blanks, blanks == 0 ? 0 : blanks + 2, text + blanks);
        text = is_last ? end : end + 1;
    }
}
