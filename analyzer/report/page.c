#include "analyzer/report/page.h"

#include "analyzer/output/quantity.h"
#include "format/base/printable.h"

#include <string.h>

void tg_report_title(const struct tg_report_page *page, const char *title)
{
    fprintf(page->stream, page->options->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

/* Characters of the SIZE bytes at TEXT, which is UTF-8. */
static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += (text[i] & 0xc0) != 0x80;
    return count;
}

void tg_report_paragraph(const struct tg_report_page *page, const char *label, const char *text)
{
    enum { LEAST = 20 };
    size_t indent = label == NULL ? 0 : strlen(label), at = indent, columns = page->options->columns;
    fputs(label == NULL ? "" : label, page->stream);
    if (columns != 0 && columns < indent + LEAST)
        columns = indent + LEAST;
    for (bool is_first = true; *text != '\0'; is_first = false) {
        size_t size = strcspn(text, " "), width = count_characters(text, size);
        if (!is_first && columns != 0 && at + 1 + width > columns) {
            fprintf(page->stream, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!is_first) {
            fputc(' ', page->stream);
            at++;
        }
        fwrite(text, 1, size, page->stream);
        at += width;
        text += size;
        text += *text == ' ';
    }
    fputc('\n', page->stream);
}

void tg_report_more(const struct tg_report_page *page, int indent, uint64_t left_out)
{
    char count[TG_QUANTITY_SIZE];
    if (left_out > 0)
        fprintf(page->stream, "%*sand %s more; --all shows them\n", indent, "",
                tg_quantity_count(left_out, count));
}

const char *tg_report_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void tg_report_argument(FILE *stream, const char *argument)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./=:,@%+";
    if (*argument != '\0' && argument[strspn(argument, plain)] == '\0')
        fputs(argument, stream);
    else
        tg_printable_write_quoted(stream, argument);
}
