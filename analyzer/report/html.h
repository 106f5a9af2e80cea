/* The report as a web page in one file. */
#ifndef TG_ANALYZER_REPORT_HTML_H
#define TG_ANALYZER_REPORT_HTML_H

#include "analyzer/report/report.h"

/* Writes the page for REPORT, whose trace is read again for the time line and the diagram, which PROGRESS tells. SERVICES and
 * PROGRESS may be NULL. Errors: those of reading, and NO_MEMORY. */
struct tg_error *tg_report_write_html(const struct tg_report *report,
                                      const struct tg_command_services *services,
                                      struct tg_progress *progress, FILE *stream);

#endif
