/* Taskloops, each iteration a task; reductions over tasks. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

enum { N = 24 };

static long total;

static void iterate(long i)
{
    long task = log_new();
    tell_task(task);
#pragma omp atomic
    total += i;
    tell_task_end(task, "completed");
}

static void loops(int n)
{
    int lengths[n];
    long last = 0, sum = 0;
    for (int i = 0; i < n; i++)
        lengths[i] = i;
    tell("zone taskloop");
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < N; i++)
        iterate(i);
    tell("end zone taskloop");
    tell("zone taskloop");
#pragma omp taskloop num_tasks(N) lastprivate(last) firstprivate(lengths)
    for (unsigned long long i = 1; i <= N; i++) {
        last = (long)i + lengths[n - 1];
        iterate((long)i);
    }
    tell("end zone taskloop");
    tell("zone taskloop");
#pragma omp taskloop grainsize(1) if (n < 0)
    for (long i = N; i > 0; i--)
        iterate(i);
    tell("end zone taskloop");
    tell("zone taskloop");
#pragma omp taskloop grainsize(1) reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        sum += i;
        iterate(0);
    }
    tell("end zone taskloop");
    tell("zone taskgroup");
    tell("zone taskloop");
#pragma omp taskgroup
    {
#pragma omp taskloop nogroup grainsize(1) firstprivate(lengths)
        for (int i = 0; i < N; i++)
            iterate(lengths[n - 1]);
        tell("end zone taskloop");
        tell("arrive taskgroup 0");
    }
    tell("leave taskgroup 0");
    tell("end zone taskgroup");
#pragma omp atomic
    total += last + sum;
}

static long reduce(void)
{
    long sum = 0;
    tell("zone taskgroup");
#pragma omp taskgroup task_reduction(+ : sum)
    {
        for (int i = 0; i < 8; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
            {
                long task = log_new();
                tell_task(task);
                sum += i;
                tell_task_end(task, "completed");
            }
        }
        tell("arrive taskgroup 0");
    }
    tell("leave taskgroup 0");
    tell("end zone taskgroup");
    return sum;
}

int main(int argc, char **argv)
{
    (void)argv;
    tell("ignore create"); /* of a taskloop's tasks only the runtime knows when they come to be */
    for (int threads = 1; threads <= 3; threads++) {
        long team = log_new(), sum = 0;
        tell("parallel @%ld %d", team, threads);
#pragma omp parallel num_threads(threads) reduction(task, + : sum)
        {
            tell_begin(team, 0);
            tell("arrive barrier 1");
#pragma omp barrier
            tell("leave barrier 1");
            /* looks like a masked construct */
            tell("ignore zone masked");
            tell("ignore end zone masked");
            if (omp_get_thread_num() == 0) {
                loops(4 + argc);
                total += reduce();
#pragma omp task in_reduction(+ : sum)
                {
                    long task = log_new();
                    tell_task(task);
                    sum += 5;
                    tell_task_end(task, "completed");
                }
            }
            tell("arrive barrier 2");
#pragma omp barrier
            tell("leave barrier 2");
            tell("end");
        }
        tell("end parallel @%ld", team);
        total += sum;
    }
    loops(3);
    printf("%ld\n", total);
    return 0;
}
