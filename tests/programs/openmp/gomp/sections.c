/* Sections and single: who executes which, with and without wait, copyprivate, joined with the region. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

static int done[8];

static void singles(long team)
{
    int barriers = 0, value = 0;
    for (int round = 0; round < 5; round++) {
        int mine = 0;
#pragma omp single
        {
            tell("zone single");
            mine = 1;
            done[0]++;
            tell("end zone single");
        }
        if (!mine) {
            tell("zone single_other");
            tell("end zone single_other");
        }
        tell_barrier("barrier_implicit", ++barriers);

#pragma omp barrier
        tell_barrier("barrier", ++barriers);

        mine = 0;
        tell("arrive copyprivate 0");
#pragma omp single copyprivate(value)
        {
            tell("leave copyprivate 0");
            tell("zone single");
            mine = 1;
            value = round + (int)team;
            tell("end zone single");
            tell("arrive copyprivate 0");
        }
        tell("leave copyprivate 0");
        if (!mine) {
            tell("zone single_other");
            tell("end zone single_other");
        }
        tell_barrier("barrier_implicit", ++barriers);
        if (value != round + (int)team)
            done[7]++;
    }
}

/* The end of a single without wait is not seen before the thread's next construct. */
static void singles_without_wait(long team)
{
    (void)team;
    int barriers = 0;
    for (int round = 0; round < 5; round++) {
        int mine = 0;
#pragma omp single nowait
        {
            tell("zone single");
            mine = 1;
#pragma omp atomic
            done[1]++;
        }
        if (!mine) {
            tell("zone single_other");
            tell("end zone single_other");
        } else {
            tell("end zone single");
        }
        tell("zone loop dynamic");
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 4; i++) {
#pragma omp atomic
            done[2]++;
        }
        tell("end zone loop");
        tell_barrier("barrier_implicit", ++barriers);
    }
}

static void sections(long team)
{
    (void)team;
    int barriers = 0;
    for (int round = 0; round < 5; round++) {
        tell("zone sections 3");
#pragma omp sections
        {
#pragma omp section
            {
                tell("section 1");
                done[3]++;
            }
#pragma omp section
            {
                tell("section 2");
                done[4]++;
            }
#pragma omp section
            {
                tell("section 3");
                done[5]++;
            }
        }
        tell("end zone sections");
        tell_barrier("barrier_implicit", ++barriers);
        tell("zone sections 2");
#pragma omp sections nowait
        {
#pragma omp section
            tell("section 1");
#pragma omp section
            tell("section 2");
        }
        tell("end zone sections");
    }
}

int main(void)
{
    void (*const parts[])(long) = {singles, singles_without_wait, sections};
    for (int part = 0; part < 3; part++) {
        long team = log_new();
        tell("parallel @%ld 3", team);
#pragma omp parallel num_threads(3)
        {
            tell_begin(team, 0);
            parts[part](team);
            tell("end");
        }
        tell("end parallel @%ld", team);
    }
    /* outside of all regions */
    done[6] = 0;
    tell("zone single");
#pragma omp single
    done[6]++;
    tell("end zone single");
    tell_barrier("barrier_implicit", 1);
    for (int i = 0; i < 8; i++)
        printf("%d ", done[i]);
    printf("\n");
    return 0;
}
