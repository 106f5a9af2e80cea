/* The verdict on a job that does not go on, in sentences. */
#ifndef TG_ANALYZER_WHERE_VERDICT_WORDS_H
#define TG_ANALYZER_WHERE_VERDICT_WORDS_H

#include "analyzer/where/verdict.h"

#include <stdio.h>

/* Returns whether there was something to say. */
bool tg_where_verdict_write(FILE *stream, const struct tg_where_threads *threads,
                            const struct tg_where_verdict *verdict);

#endif
