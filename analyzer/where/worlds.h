/* Ranks of a job that were not looked at, and ranks that MPI has not joined. */
#ifndef TG_ANALYZER_WHERE_WORLDS_H
#define TG_ANALYZER_WHERE_WORLDS_H

#include "analyzer/where/group.h"

#include <stdio.h>

/* Writes of each job that its launcher started, and MPI did not join, that this is so. */
void tg_where_worlds_write_apart(FILE *stream, const struct tg_where_threads *threads);

/* Writes of each job which of its ranks were not looked at. */
void tg_where_worlds_write_missing(FILE *stream, const struct tg_where_threads *threads);

/* Whether all ranks that were looked at are of one job, and wait in one collective call, which others of the job have to make as well,
 * all the time from one look to the next. */
bool tg_where_worlds_are_unseen(const struct tg_where_threads *threads, const struct tg_where_group *groups,
                                size_t count);

/* Writes for whom GROUP waits then. */
void tg_where_worlds_write_unseen(FILE *stream, const struct tg_where_threads *threads,
                                  const struct tg_where_group *group);

#endif
