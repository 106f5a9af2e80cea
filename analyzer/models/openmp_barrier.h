/* The barrier that a team of the OpenMP model is at: who has passed it, who waits at it, who is missing. */
#ifndef TG_ANALYZER_MODELS_OPENMP_BARRIER_H
#define TG_ANALYZER_MODELS_OPENMP_BARRIER_H

#include "analyzer/models/openmp_state.h"

/* How far a member is with a barrier of its team. */
enum tg_openmp_standing {
    TG_OPENMP_PASSED,  /* behind it */
    TG_OPENMP_WAITING, /* at it */
    TG_OPENMP_MISSING, /* before it */
};

/* The barrier of a team that is going on: some have come, not all have left. */
struct tg_openmp_barrier {
    uint64_t instance;
    uint64_t sync;                     /* enum tg_omp_sync; BARRIER_JOIN: the end of the region */
    bool is_open;                      /* somebody has gone on */
    uint64_t passed, waiting, missing; /* members; MISSING counts those that never began too, by team size */
    uint64_t since_ns;                 /* when the first came */
    uint64_t code;
};

/* The one furthest behind, where the team is at several: the one that holds up. False: at none. */
bool tg_openmp_barrier_of(const struct tg_openmp_team *team, struct tg_openmp_barrier *barrier);

/* How MEMBER of TEAM stands to BARRIER, one of the same team. */
enum tg_openmp_standing tg_openmp_barrier_standing(const struct tg_openmp_member *member,
                                                   const struct tg_openmp_barrier *barrier);

#endif
