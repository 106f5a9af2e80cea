/* Constructs that LLVM's runtime reports and libgomp does not, or in another way: static loops, masked,
 * reductions, taskloop, teams, cancellation. The log is that of ../gomp. */
#include "../gomp/log.h"

#include <omp.h>
#include <stdio.h>

enum { N = 12 };

static int results[8], sum;

static void loops(long team)
{
    int barriers = 0;
    (void)team;
    for (int round = 0; round < 3; round++) {
        tell("zone loop");
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            results[0] += i;
        }
        tell("end zone loop");
        tell_barrier("barrier_implicit", ++barriers);
        tell("zone loop");
#pragma omp for schedule(static, 1) nowait
        for (int i = 0; i < N; i++) {
#pragma omp atomic
            results[0] += i;
        }
        tell("end zone loop");
        tell("zone loop");
#pragma omp for reduction(+ : sum) nowait
        for (int i = 0; i < N; i++)
            sum += i;
        tell("end zone loop");
#pragma omp barrier
        tell_barrier("barrier", ++barriers);
    }
#pragma omp masked
    {
        tell("zone masked");
        results[1] += sum;
        tell("end zone masked");
    }
}

static void masked(long team)
{
    (void)team;
    int barriers = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp masked
        {
            tell("zone masked");
            results[2]++;
            tell("end zone masked");
        }
#pragma omp master
        {
            tell("zone masked");
            results[2]++;
            tell("end zone masked");
        }
#pragma omp barrier
        tell_barrier("barrier", ++barriers);
    }
}

static void taskloop(long team)
{
    (void)team;
    if (omp_get_thread_num() == 0) {
        long tasks[4];
        tell("zone masked");
        tell("zone taskgroup");
        tell("zone taskloop");
        for (int i = 0; i < 4; i++) {
            tasks[i] = log_new();
            tell("create #%ld of #0 taskloop", tasks[i]);
        }
        tell("end zone taskloop");
        tell("arrive taskgroup 0");
#pragma omp masked
        {
#pragma omp taskloop num_tasks(4) shared(tasks)
            for (int i = 0; i < 4; i++) {
                tell_task(tasks[i]);
#pragma omp atomic
                results[3] += i;
                tell_task_end(tasks[i], "completed");
            }
            tell("leave taskgroup 0");
            tell("end zone taskgroup");
            tell("end zone masked");
        }
    }
    tell("arrive barrier 1");
#pragma omp barrier
    tell("leave barrier 1");
}

static void cancellation(long team)
{
    (void)team;
    int barriers = 0;
    tell("zone loop");
#pragma omp for schedule(static)
    for (int i = 0; i < N; i++) {
        tell("cancel loop 1");
#pragma omp cancel for
#pragma omp atomic
        results[4]++; /* never */
    }
    tell("end zone loop");
    tell_barrier("barrier_implicit", ++barriers);
    if (omp_get_thread_num() == 0) {
        tell("zone taskgroup");
#pragma omp taskgroup
        {
            long task = log_new();
            tell("create #%ld of #0", task);
            tell_task(task);
#pragma omp task if (0)
            {
                tell("cancel taskgroup 1");
#pragma omp cancel taskgroup
            }
            tell_task_end(task, "cancelled");
            tell("arrive taskgroup 0");
        }
        tell("leave taskgroup 0");
        tell("end zone taskgroup");
    }
#pragma omp barrier
    tell_barrier("barrier", ++barriers);
}

static void in_a_region(void (*part)(long))
{
    long team = log_new();
    tell("parallel @%ld 2", team);
#pragma omp parallel num_threads(2)
    {
        tell_begin(team, 0);
        part(team);
        tell("end");
    }
    tell("end parallel @%ld", team);
}

static void teams(void)
{
#pragma omp teams num_teams(2) thread_limit(1)
    {
        tell("zone teams");
        long team = log_new();
        tell("parallel @%ld 1", team);
#pragma omp parallel num_threads(1)
        {
            tell_begin(team, 0);
#pragma omp atomic
            results[5]++;
            tell("end");
        }
        tell("end parallel @%ld", team);
        tell("end zone teams");
    }
}

int main(void)
{
    void (*const parts[])(long) = {loops, masked, taskloop, cancellation};
    for (int part = 0; part < 4; part++)
        in_a_region(parts[part]);
    teams();
    in_a_region(masked);
    for (int i = 0; i < 6; i++)
        printf("%d ", results[i]);
    printf("\n");
    return 0;
}
