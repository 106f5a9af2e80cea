#include "analyzer/report/page.h"

void tg_report_title(const struct tg_report_page *page, const char *title)
{
    fprintf(page->stream, page->options->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}
