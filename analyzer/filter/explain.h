/* Why a setting reports or defers an event: `tollgate filter --explain` and `--decisions`. */
#ifndef TG_ANALYZER_FILTER_EXPLAIN_H
#define TG_ANALYZER_FILTER_EXPLAIN_H

#include "analyzer/filter/model.h"
#include "format/settings/dlopen_filter.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes the verdict on an event that loads LIBRARIES, and how each of them matches. Returns whether the
 * event is reported. */
bool tg_filter_explain(const struct tg_dlopen_filter *filter, const char *const *libraries, size_t count,
                       bool json, FILE *stream);

/* One prediction as a line of text, or of JSON. */
void tg_filter_explain_prediction(const struct tg_filter_prediction *prediction, enum tg_filter_mode mode,
                                  const char *match, bool json, FILE *stream);

#endif
