/* The barrier that a team of the OpenMP model is at: who has passed it, who waits at it, who is missing. */
#ifndef TG_ANALYZER_MODELS_OPENMP_BARRIER_H
#define TG_ANALYZER_MODELS_OPENMP_BARRIER_H

#include "analyzer/models/openmp/state.h"

/* How far a member is with a barrier of its team. */
enum tg_openmp_standing {
    TG_OPENMP_PASSED,  /* behind it */
    TG_OPENMP_WAITING, /* at it */
    TG_OPENMP_MISSING, /* has not come to it, or has left it out */
};

/* The barrier of a team at which somebody waits. */
struct tg_openmp_barrier {
    uint64_t instance;
    uint64_t sync;                     /* enum tg_omp_sync; BARRIER_JOIN: the end of the region */
    bool is_open;                      /* somebody has gone on */
    uint64_t passed, waiting, missing; /* members; MISSING counts those that never began too, by team size */
    uint64_t since_ns;                 /* when the first came */
    uint64_t code;
};

/* The one furthest behind, where members wait at several: the one that holds up. The end of the region, where
 * nobody waits at a barrier and some are through. False: nobody waits. */
bool tg_openmp_barrier_of(const struct tg_openmp_team *team, struct tg_openmp_barrier *barrier);

/* The one to be passed next: that which the worker with index WORKER waits at, of TEAM's; else, and for SIZE_MAX,
 * the newest that somebody waits at. Who has not woken yet in an older one, which is open, holds nobody up.
 * False: nobody waits. */
bool tg_openmp_barrier_to_pass(const struct tg_openmp_team *team, size_t worker,
                               struct tg_openmp_barrier *barrier);

/* How far MEMBER of TEAM is with BARRIER, one of the same team. */
enum tg_openmp_standing tg_openmp_barrier_standing(const struct tg_openmp_member *member,
                                                   const struct tg_openmp_barrier *barrier);
/* Whether MEMBER is through with the region without having come to BARRIER. */
bool tg_openmp_barrier_is_skipped(const struct tg_openmp_member *member,
                                  const struct tg_openmp_barrier *barrier);

#endif
