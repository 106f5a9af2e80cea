/* Ranks of one communicator that are in different collective calls of it. */
#ifndef TG_ANALYZER_WHERE_MISMATCHES_H
#define TG_ANALYZER_WHERE_MISMATCHES_H

#include "analyzer/where/group.h"

#include <stdio.h>

/* Writes of a communicator all of whose members are in collective calls of it, among the COUNT groups, which are not the same, that they
 * wait for each other. Returns whether there is one; STREAM may be NULL. */
bool tg_where_mismatch_write(FILE *stream, const struct tg_where_threads *threads,
                             const struct tg_where_group *groups, size_t count);

#endif
