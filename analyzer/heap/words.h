/* Words for heaps, that the report, the command and the console share. */
#ifndef TG_ANALYZER_HEAP_WORDS_H
#define TG_ANALYZER_HEAP_WORDS_H

#include "analyzer/models/heap/model.h"
#include "analyzer/models/process.h"

#include <stdio.h>

/* "rank 3"; "process 1234" of one without a rank. */
void tg_heap_words_process(FILE *stream, const struct tg_process_entry *process);

/* "1.20 GiB in 12,345 blocks"; of a sample "about 1.20 GiB (± 34.1 MiB) in ..." */
void tg_heap_words_amount(FILE *stream, const struct tg_heap_amount *amount);

/* A line with the growth as a row of bars: "  growth     ▁▂▅█ 0.1 s to 5.0 s, highest 1.20 GiB". WIDTH of the line, 0
 * no limit. Nothing where GROWTH is NULL. */
void tg_heap_words_growth(FILE *stream, const struct tg_heap_growth *growth, uint64_t start_ns, size_t width);

#endif
