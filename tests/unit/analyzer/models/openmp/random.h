/* Random OpenMP events, possible and impossible ones, and what is true of them; for unit tests, behind
 * events.h. */
#ifndef TG_TESTS_UNIT_ANALYZER_MODELS_OPENMP_RANDOM_H
#define TG_TESTS_UNIT_ANALYZER_MODELS_OPENMP_RANDOM_H

#include <stdlib.h>

static void critical(int32_t tid, bool leaves)
{
    FEED(tid, OMP_MUTEX_WAIT, omp_mutex_wait, .team = 1, .thread_num = (uint64_t)tid - 1, .code = 7);
    FEED(tid, OMP_MUTEX_ENTER, omp_mutex_enter, .team = 1, .thread_num = (uint64_t)tid - 1, .code = 7);
    if (leaves)
        FEED(tid, OMP_MUTEX_LEAVE, omp_mutex_leave, .team = 1, .thread_num = (uint64_t)tid - 1, .code = 7);
}

enum { LANES = 6, TEAMS = 3 };

/* By worker and team: how many barriers of it a worker has come to, and whether it was through with all of
 * it; kept by the test itself. */
struct truth {
    uint64_t came;
    bool ended;
};

static void random_event(unsigned *seed, struct truth truths[LANES][TEAMS + 1])
{
    int32_t tid = (int32_t)(rand_r(seed) % LANES) + 1;
    uint64_t team = (uint64_t)(rand_r(seed) % TEAMS) + 1, instance = truths[tid - 1][team].came + 1;
    if (rand_r(seed) % 16 == 0)
        instance += (uint64_t)(rand_r(seed) % 3); /* impossible ones, too */
    switch (rand_r(seed) % 12) {
    case 0:
        FEED(tid, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = team, .code = team);
        break;
    case 1:
        FEED(tid, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team = team, .level = 1,
             .team_size = (uint64_t)(rand_r(seed) % LANES));
        break;
    case 2:
    case 3:
    case 4:
        FEED(tid, OMP_SYNC_BEGIN, omp_sync_begin, .team = team, .instance = instance);
        if (instance > truths[tid - 1][team].came)
            truths[tid - 1][team].came = instance;
        break;
    case 5:
    case 6:
    case 7:
        FEED(tid, OMP_SYNC_END, omp_sync_end, .team = team, .instance = truths[tid - 1][team].came);
        break;
    case 8:
        critical(tid, rand_r(seed) % 2 == 0);
        break;
    case 9:
        FEED(tid, OMP_ZONE_BEGIN, omp_zone_begin, .team = team, .zone = (uint64_t)(rand_r(seed) % 16));
        break;
    case 10:
        FEED(tid, OMP_ZONE_END, omp_zone_end, .team = team, .zone = (uint64_t)(rand_r(seed) % 16));
        break;
    case 11:
        if (rand_r(seed) % 8 != 0)
            break;
        FEED(tid, OMP_IMPLICIT_END, omp_implicit_end, .team = team);
        for (team = 1; team <= TEAMS; team++) /* and with the regions inside of it */
            truths[tid - 1][team].ended = true;
        break;
    }
}

#endif
