/* Ranks of one communicator that are in different collective calls of it, or all but one in the same. */
#ifndef TG_ANALYZER_WHERE_MISMATCHES_H
#define TG_ANALYZER_WHERE_MISMATCHES_H

#include "analyzer/where/group.h"

#include <stdio.h>

/* Writes of a communicator all of whose members are in collective calls of it, among the COUNT groups, which are not the same,
 * that they wait for each other. Returns whether there is one; STREAM may be NULL. */
bool tg_where_mismatch_write(FILE *stream, const struct tg_where_threads *threads,
                             const struct tg_where_group *groups, size_t count);

/* Writes of the largest of these groups that is in a collective call whose other members are in it as well, but for one rank,
 * which is in another call, that it waits for that one. Returns whether there is one. */
bool tg_where_only_lacking_write(FILE *stream, const struct tg_where_threads *threads,
                                 const struct tg_where_group *groups, size_t count);

#endif
