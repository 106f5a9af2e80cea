/* Cancellation of everything that can be cancelled; $OMP_CANCELLATION is on. */
#include "log.h"

#include <omp.h>
#include <stdio.h>

static int reached;

/* The thread that cancels, and what the others find. */
static void region(void)
{
    long team = log_new();
    tell("parallel @%ld 3", team);
#pragma omp parallel num_threads(3)
    {
        tell_begin(team, 0);
        /* looks like a masked construct */
        tell("ignore zone masked");
        tell("ignore end zone masked");
        if (omp_get_thread_num() == 1) {
            tell("cancel parallel 1");
            tell("end");
#pragma omp cancel parallel
        }
        tell("arrive barrier 1");
        tell("leave barrier 1 cancelled");
        tell("end");
#pragma omp barrier
#pragma omp atomic
        reached += 100; /* nobody */
    }
    tell("end parallel @%ld", team);
}

static void loop(void)
{
    long team = log_new();
    tell("parallel @%ld 2", team);
#pragma omp parallel num_threads(2)
    {
        tell_begin(team, 0);
        tell("ignore cancel loop"); /* how many find it cancelled is chance */
        tell("zone loop dynamic");
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 1000; i++) {
            if (i == 3) {
#pragma omp atomic
                reached += 1;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
        tell("end zone loop");
        tell_barrier("barrier_implicit", 1);
        tell("end");
    }
    tell("end parallel @%ld", team);
}

static void sections(void)
{
    long team = log_new();
    tell("parallel @%ld 1", team);
#pragma omp parallel num_threads(1)
    {
        tell_begin(team, 0);
        tell("zone sections 2");
#pragma omp sections
        {
#pragma omp section
            {
                tell("section 1");
                tell("cancel sections 1");
#pragma omp cancel sections
            }
#pragma omp section
            reached += 1000; /* nobody */
        }
        tell("end zone sections");
        tell_barrier("barrier_implicit", 1);
        tell("end");
    }
    tell("end parallel @%ld", team);
}

static void group(void)
{
    long team = log_new();
    tell("parallel @%ld 1", team);
#pragma omp parallel num_threads(1)
    {
        tell_begin(team, 0);
        tell("zone taskgroup");
#pragma omp taskgroup
        {
            long task = log_new();
            tell("create #%ld of #0", task);
#pragma omp task firstprivate(task)
            {
                tell_task(task);
                tell("cancel taskgroup 1");
                tell_task_end(task, "completed");
#pragma omp cancel taskgroup
                reached += 10000;
            }
            task = log_new();
            tell("create #%ld of #0", task);
#pragma omp task firstprivate(task)
            {
                reached += 10; /* executed after the cancellation, or not at all */
                tell_task(task);
                tell_task_end(task, "completed");
            }
            tell("arrive taskgroup 0");
        }
        tell("leave taskgroup 0");
        tell("end zone taskgroup");
        tell("end");
    }
    tell("end parallel @%ld", team);
}

int main(void)
{
    if (!omp_get_cancellation())
        return 1;
    region();
    loop();
    sections();
    group();
    printf("%d\n", reached % 10 >= 1 && reached < 100);
    return 0;
}
