/* The web page as one file: it opens anywhere, and asks for nothing.
 *
 * Its policy allows its own script and style by their hashes and nothing else: what a name from a trace might smuggle in would
 * not run. Documents are data, in which no "<" is left. */
#ifndef TG_ANALYZER_HTML_FILE_H
#define TG_ANALYZER_HTML_FILE_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdio.h>

/* A document of the page (analyzer/page/page.h). */
struct tg_html_document {
    const char *name; /* letters */
    const char *json;
};

/* Writes the page with the COUNT DOCUMENTS to STREAM. TITLE may have any bytes. Errors of the stream are the caller's to
 * find. */
void tg_html_file_write(FILE *stream, const char *title, const struct tg_html_document *documents,
                        size_t count);

#endif
