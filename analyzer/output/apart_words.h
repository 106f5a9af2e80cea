/* Processes that a launcher started as ranks of one job, and that MPI has not joined, in words. */
#ifndef TG_ANALYZER_OUTPUT_APART_WORDS_H
#define TG_ANALYZER_OUTPUT_APART_WORDS_H

#include "analyzer/models/process.h"

#include <stdio.h>

/* Writes two sentences about all that were started with FIRST: RANKS, COUNT of them, sorted, are their numbers for the launcher. */
void tg_apart_words(FILE *stream, const struct tg_process_launch *first, const int64_t *ranks, size_t count);

#endif
