/* The processes of a report. */
#ifndef TG_ANALYZER_REPORT_TREE_H
#define TG_ANALYZER_REPORT_TREE_H

#include "analyzer/report/page.h"

/* The processes that fit on LINES lines and within the page's width, those that are alike in one line;
 * nothing where there is no room for any. Only error: NO_MEMORY. */
struct tg_error *tg_report_tree_brief(const struct tg_report_page *page, size_t lines);

#endif
