/* Processes that a signal has ended, by the stacks that were taken then. */
#ifndef TG_ANALYZER_WHERE_CRASHES_H
#define TG_ANALYZER_WHERE_CRASHES_H

#include "analyzer/where/threads.h"

#include <stdio.h>

/* Whether a thread did something for which a process ends: a fault, or abort(). A signal that somebody sent is none. */
bool tg_where_has_crashes(const struct tg_where_threads *threads);

/* "SIGSEGV ended rank 2: in solve (solve.c:88)." for each of those, and who was ended by a signal from elsewhere. Returns
 * whether there was one. */
bool tg_where_crashes_write(FILE *stream, const struct tg_where_threads *threads);

#endif
