/* Words for threads that wait for others of their OpenMP team, and for where these are. */
#ifndef TG_ANALYZER_WHERE_TEAMS_H
#define TG_ANALYZER_WHERE_TEAMS_H

#include "analyzer/where/group.h"

#include <stdbool.h>
#include <stdio.h>

/* Of COUNT groups, of ranks outside of MPI whose first threads wait for their teams: "There, thread 12 is in solve
 * (solve.c:7)." */
void tg_where_teams_write(FILE *stream, const struct tg_where_threads *threads,
                          const struct tg_where_group *groups, size_t count);
/* Whether that says where others of the team are that THREAD waits for, by what it says of GROUP. */
bool tg_where_team_is_told(const struct tg_where_threads *threads, const struct tg_where_group *group,
                           const struct tg_where_thread *thread);

/* Of programs without MPI: "In app (process 12), 2 threads wait in GOMP_barrier, called from solve (solve.c:9); thread 14 is in
 * ...". Returns whether there was something to say. */
bool tg_where_teams_write_alone(FILE *stream, const struct tg_where_threads *threads);

#endif
