/* What the page asks for beside a document's name: "from=0&to=1000&open=c1,p3". Values are letters, digits, and "-.,_":
 * nothing is escaped. */
#ifndef TG_ANALYZER_PAGE_QUERY_H
#define TG_ANALYZER_PAGE_QUERY_H

#include <stdbool.h>
#include <stdint.h>

/* The value of KEY in QUERY (NULL: nothing is asked) as a whole number; OTHERWISE where it is not there, or none. */
uint64_t tg_query_number(const char *query, const char *key, uint64_t otherwise);

/* Whether WORD is in KEY's value, a list with commas. */
bool tg_query_lists(const char *query, const char *key, const char *word);

#endif
