/* What the page asks for beside a document's name: "from=0&to=1000&open=c1,p3". Values are letters, digits, and "-.,_":
 * nothing is escaped. */
#ifndef TG_ANALYZER_PAGE_QUERY_H
#define TG_ANALYZER_PAGE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of KEY in QUERY (NULL: nothing is asked) as a whole number; OTHERWISE where it is not there, or none. */
uint64_t tg_query_number(const char *query, const char *key, uint64_t otherwise);

/* The value of KEY in TEXT, which ends with a NUL; "" where it is not there, or does not fit. */
const char *tg_query_text(const char *query, const char *key, char *text, size_t size);

/* Whether WORD is in KEY's value, a list with commas. */
bool tg_query_lists(const char *query, const char *key, const char *word);

#endif
