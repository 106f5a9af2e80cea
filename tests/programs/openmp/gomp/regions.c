/* Regions: plain, of one thread, nested 2x2, from a function called in a region, one after another. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

static int total;

static void inner(long outer_team)
{
    long team = log_new();
    tell("parallel @%ld 2", team);
#pragma omp parallel num_threads(2)
    {
        tell_begin(team, outer_team);
#pragma omp barrier
        tell_barrier("barrier", 1);
#pragma omp atomic
        total += 1;
        tell("end");
    }
    tell("end parallel @%ld", team);
}

int main(void)
{
    omp_set_max_active_levels(3);
    for (int round = 0; round < 3; round++) {
        long team = log_new();
        tell("parallel @%ld 2", team);
#pragma omp parallel num_threads(2)
        {
            tell_begin(team, 0);
            inner(team);
#pragma omp barrier
            tell_barrier("barrier", 1);
            inner(team);
#pragma omp barrier
            tell_barrier("barrier", 2);
            tell("end");
        }
        tell("end parallel @%ld", team);
    }
    long team = log_new();
    tell("parallel @%ld 1", team);
#pragma omp parallel if (total < 0)
    {
        tell_begin(team, 0);
        inner(team);
        tell("end");
    }
    tell("end parallel @%ld", team);
    inner(0);
    omp_set_max_active_levels(1); /* the inner regions have one thread each */
    team = log_new();
    tell("parallel @%ld 2", team);
#pragma omp parallel num_threads(2)
    {
        tell_begin(team, 0);
        inner(team);
        tell("end");
    }
    tell("end parallel @%ld", team);
    omp_set_num_threads(3);
    team = log_new();
    tell("parallel @%ld 0", team);
#pragma omp parallel
    {
        tell_begin(team, 0);
        tell("end");
    }
    tell("end parallel @%ld", team);
    printf("%d\n", total);
    return 0;
}
