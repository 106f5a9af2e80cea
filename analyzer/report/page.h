/* Where the sections of the text report write, and what they share. */
#ifndef TG_ANALYZER_REPORT_PAGE_H
#define TG_ANALYZER_REPORT_PAGE_H

#include "analyzer/report/report.h"

/* What a section writes with. */
struct tg_report_page {
    const struct tg_report *report;
    const struct tg_report_text_options *options;
    FILE *stream;
    bool many_jobs; /* ranks of more than one job: a rank alone does not say which */
};

/* A blank line and the section's title. */
void tg_report_title(const struct tg_report_page *page, const char *title);

#endif
