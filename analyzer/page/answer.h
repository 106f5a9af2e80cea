/* The data of the web page: JSON documents about a job at a moment, made from the models. The page asks for them by name;
 * `report --html` writes them into one file (analyzer/html/file.h).
 *
 * To add a document: a function in a file of its own, declared in documents.h, and a row in answer.c. */
#ifndef TG_ANALYZER_PAGE_ANSWER_H
#define TG_ANALYZER_PAGE_ANSWER_H

#include "analyzer/page/page.h"

#include <stdio.h>

/* The names of documents, for I in [0, count). */
size_t tg_page_count(void);
const char *tg_page_name_at(size_t i);

/* Whether document NAME is about the whole trace, and not about the moment: it needs a time line with its models, or reads
 * the trace itself. */
bool tg_page_is_of_trace(const char *name);

/* Writes document NAME as JSON; QUERY (analyzer/page/query.h) may be NULL. Bounded: whatever a trace has, a document has at
 * most some thousand items. Errors: NOT_FOUND, no document has that name; NO_MEMORY; those of reading the trace. */
struct tg_error *tg_page_write(const struct tg_page *page, const char *name, const char *query, FILE *stream);

#endif
