/* Teams on the host, and target constructs where there is no device: the host runs them. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

static int total;

static void region(long outer)
{
    long team = log_new();
    tell("parallel @%ld 2", team);
#pragma omp parallel num_threads(2)
    {
        tell("begin @%ld of @%ld %d/%d level %d", team, outer, omp_get_thread_num(), omp_get_num_threads(),
             omp_get_level());
#pragma omp atomic
        total++;
        tell("end");
    }
    tell("end parallel @%ld", team);
}

int main(void)
{
    int x = 3;
    tell("zone teams");
#pragma omp teams num_teams(2)
    region(0);
    tell("end zone teams");
    tell("zone target");
#pragma omp target map(tofrom : x) device(omp_get_initial_device())
    {
        x++;
        region(0);
    }
    tell("end zone target");
    tell("zone target");
#pragma omp target data map(tofrom : x)
    {
        tell("end zone target");
        x++;
        tell("zone target");
#pragma omp target update to(x)
        tell("end zone target");
        tell("zone target");
    }
    tell("end zone target");
    tell("zone target");
#pragma omp target enter data map(to : x)
    tell("end zone target");
    tell("zone target");
#pragma omp target exit data map(from : x)
    tell("end zone target");
    printf("%d %d\n", total, x);
    return 0;
}
