/* `tollgate filter --explain`: one event's library list against one setting. */
#ifndef TG_ANALYZER_FILTER_EXPLAIN_H
#define TG_ANALYZER_FILTER_EXPLAIN_H

#include "format/settings/dlopen_filter.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes the verdict on the event that brought LIBRARIES, and how each of them fared. Returns whether it is
 * reported. */
bool tg_filter_explain(const struct tg_dlopen_filter *filter, const char *const *libraries, size_t count,
                       bool json, FILE *stream);

#endif
