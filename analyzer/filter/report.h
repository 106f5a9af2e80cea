/* How an evaluation of dlopen filters is shown. */
#ifndef TG_ANALYZER_FILTER_REPORT_H
#define TG_ANALYZER_FILTER_REPORT_H

#include "analyzer/filter/evaluation.h"

#include <stdio.h>

/* For people. All text from the trace is made printable. */
struct tg_error *tg_filter_write_text(const struct tg_filter_evaluation *evaluation, bool colour,
                                      FILE *stream);

/* One JSON object; the fields are documented in tollgate-filter(1). */
struct tg_error *tg_filter_write_json(const struct tg_filter_evaluation *evaluation, const char *trace,
                                      FILE *stream);

#endif
