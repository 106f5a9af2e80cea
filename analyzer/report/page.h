/* The stream and options of the text report, with the helpers that its sections share. */
#ifndef TG_ANALYZER_REPORT_PAGE_H
#define TG_ANALYZER_REPORT_PAGE_H

#include "analyzer/report/report.h"

struct tg_report_page {
    const struct tg_report *report;
    const struct tg_report_text_options *options;
    FILE *stream;
    bool many_jobs; /* ranks of more than one job: a rank alone does not say which */
};

/* A blank line and the section's title. */
void tg_report_title(const struct tg_report_page *page, const char *title);

/* LABEL, which may be NULL, and TEXT (printable) behind it, wrapped where there is a width: further lines
 * begin below the text's first character. */
void tg_report_paragraph(const struct tg_report_page *page, const char *label, const char *text);

/* "and 5 more; --all shows them", behind INDENT blanks; nothing where nothing was left out. */
void tg_report_more(const struct tg_report_page *page, int indent, uint64_t left_out);

/* "s" where COUNT is not 1. */
const char *tg_report_plural(uint64_t count);

/* An argument, in quotes where a shell would take it apart. */
void tg_report_argument(FILE *stream, const char *argument);

#endif
