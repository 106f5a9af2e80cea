/* Sets of threads in words: "ranks 0-2", "rank 3", "rank 1, threads 4712 and 4713". */
#ifndef TG_ANALYZER_WHERE_MEMBERS_H
#define TG_ANALYZER_WHERE_MEMBERS_H

#include "analyzer/where/threads.h"

#include <stdio.h>

/* Writes who THREADS, COUNT indices in LOOKED in ascending order, are. */
void tg_where_write_members(FILE *stream, const struct tg_where_threads *looked, const size_t *threads,
                            size_t count);
/* The rank whose thread INDEX is, "rank 3"; of a process that MPI has not joined with the others, "process 4711". Returns BUFFER. */
char *tg_where_rank_words(const struct tg_where_threads *looked, size_t index, char *buffer, size_t size);
/* The same as a string, the caller's to free; NULL without memory. */
char *tg_where_members_text(const struct tg_where_threads *looked, const size_t *threads, size_t count);

#endif
