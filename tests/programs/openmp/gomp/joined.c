/* Regions joined with a loop or sections: the body has no place before and behind these, and tells only what
 * it does in them. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

enum { N = 30 };

static long sum;

static void add(long i)
{
#pragma omp atomic
    sum += i;
}

/* the words of what the test counts */
#define REGION(words)                                                                                        \
    long team = log_new();                                                                                   \
    tell("joined @%ld " words, team);                                                                        \
    tell("parallel @%ld 3", team)
#define DONE tell("end parallel @%ld", team)

int main(void)
{
    tell("ignore joined");
    tell("ignore begin");
    tell("ignore zone");
    tell("ignore end zone");
    tell("ignore end  "); /* not end parallel */
    omp_set_schedule(omp_sched_guided, 2);
    {
        REGION("loop dynamic");
#pragma omp parallel for schedule(dynamic) num_threads(3)
        for (int i = 0; i < N; i++)
            add(i);
        DONE;
    }
    {
        REGION("loop dynamic");
#pragma omp parallel for schedule(monotonic : dynamic, 4) num_threads(3)
        for (int i = 0; i < N; i++)
            add(i);
        DONE;
    }
    {
        REGION("loop guided");
#pragma omp parallel for schedule(guided) num_threads(3)
        for (int i = 0; i < N; i++)
            add(i);
        DONE;
    }
    {
        REGION("loop guided");
#pragma omp parallel for schedule(monotonic : guided) num_threads(3)
        for (int i = 0; i < N; i++)
            add(i);
        DONE;
    }
    {
        REGION("loop runtime");
#pragma omp parallel for schedule(runtime) num_threads(3)
        for (int i = 0; i < N; i++)
            add(i);
        DONE;
    }
    {
        REGION("loop runtime");
#pragma omp parallel for schedule(nonmonotonic : runtime) num_threads(3)
        for (int i = 0; i < N; i++)
            add(i);
        DONE;
    }
    {
        REGION("loop runtime");
#pragma omp parallel for schedule(monotonic : runtime) num_threads(3)
        for (int i = 0; i < N; i++)
            add(i);
        DONE;
    }
    {
        REGION("loop dynamic");
#pragma omp parallel for schedule(dynamic) num_threads(3)
        for (unsigned long long i = 0; i < N; i++)
            add((long)i);
        DONE;
    }
    {
        REGION("sections 3");
#pragma omp parallel sections num_threads(3)
        {
#pragma omp section
            {
                tell("section 1");
                add(1);
            }
#pragma omp section
            {
                tell("section 2");
                add(2);
            }
#pragma omp section
            {
                tell("section 3");
                add(3);
            }
        }
        DONE;
    }
    printf("%ld\n", sum);
    return 0;
}
