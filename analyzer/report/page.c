#include "analyzer/report/page.h"

#include "analyzer/output/paragraph.h"
#include "analyzer/output/quantity.h"
#include "format/base/printable.h"

#include <string.h>

void tg_report_title(const struct tg_report_page *page, const char *title)
{
    fprintf(page->stream, page->options->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

void tg_report_paragraph(const struct tg_report_page *page, const char *label, const char *text)
{
    tg_paragraph_write(page->stream, page->options->columns, label, text);
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
