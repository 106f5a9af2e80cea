/* Ranks that wait for each other in collective calls of different communicators. */
#ifndef TG_ANALYZER_WHERE_CIRCLES_H
#define TG_ANALYZER_WHERE_CIRCLES_H

#include "analyzer/where/group.h"

#include <stdio.h>

/* Writes a circle of the COUNT groups, in each of which a rank has to make the call that the one before is in, and all have been in their
 * calls from one look to the next. Returns whether there is one; STREAM may be NULL. */
bool tg_where_circle_write(FILE *stream, const struct tg_where_threads *threads,
                           const struct tg_where_group *groups, size_t count);

#endif
