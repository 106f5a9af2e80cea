/* How an evaluation of dlopen filters is shown. */
#ifndef TG_ANALYZER_FILTER_REPORT_H
#define TG_ANALYZER_FILTER_REPORT_H

#include "analyzer/filter/evaluation.h"

#include <stdio.h>

struct tg_filter_text_options {
    bool colour;
    size_t columns; /* width that sentences fit; 0: no limit */
};

/* For people. All text from the trace is made printable. */
struct tg_error *tg_filter_write_text(const struct tg_filter_evaluation *evaluation,
                                      const struct tg_filter_text_options *options, FILE *stream);

/* One JSON object; the fields are documented in tollgate-filter(1). */
struct tg_error *tg_filter_write_json(const struct tg_filter_evaluation *evaluation, const char *trace,
                                      FILE *stream);

#endif
