/* Two OpenMP threads and nest locks. usage: nest_locks HOW
 * crosswise: each has one and waits for the other; held: one has it twice and sleeps; task: it was locked in another task
 * than its owner runs now; plain: as crosswise, of locks that are none of nest locks; critical: one sleeps in a critical section;
 * apart: three named ones, one of which is left again, and a way out that never returns.
 * Lines with "culprit" are where threads stay. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static omp_nest_lock_t first, second;
static omp_lock_t plain_first, plain_second;

static void say_there(void)
{
    printf("ready\n");
    fflush(stdout);
}

static void lock_both(omp_nest_lock_t *own, omp_nest_lock_t *other)
{
    omp_set_nest_lock(own);
#pragma omp barrier
#pragma omp single nowait
    say_there();
    omp_set_nest_lock(other); /* culprit of crosswise */
}

static void lock_plain(omp_lock_t *own, omp_lock_t *other)
{
    omp_set_lock(own);
#pragma omp barrier
#pragma omp single nowait
    say_there();
    omp_set_lock(other); /* culprit of plain */
}

static void sleep_in_critical(int me)
{
    static volatile int is_inside;
    if (me == 0) {
        while (!is_inside)
            ;
        say_there();
    }
#pragma omp critical
    {
        is_inside = 1;
        pause(); /* culprit of critical */
    }
}

static volatile int others, is_kept;

static void leave_at_once(void)
{
#pragma omp critical(left)
    others++;
#pragma omp critical(kept)
    others++;
}

static void keep_apart(int me)
{
    if (me == 0) {
        while (!is_kept)
            ;
        say_there();
        leave_at_once();
        return;
    }
#pragma omp critical(left)
    others++;
#pragma omp critical(kept)
    {
        is_kept = 1;
        if (others > 2)
            abort();
#pragma omp critical(inner)
        others++;
        pause(); /* culprit of apart */
    }
}

static void sleep_with_lock(void)
{
    omp_set_nest_lock(&first);
    omp_set_nest_lock(&first);
#pragma omp barrier
    pause(); /* culprit of held */
}

static void sleep_in_a_task(void)
{
    omp_set_nest_lock(&first);
#pragma omp barrier
#pragma omp task if (0)
    pause();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    omp_init_nest_lock(&first);
    omp_init_nest_lock(&second);
    omp_init_lock(&plain_first);
    omp_init_lock(&plain_second);
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        if (strcmp(how, "crosswise") == 0)
            lock_both(me == 0 ? &first : &second, me == 0 ? &second : &first);
        else if (strcmp(how, "plain") == 0)
            lock_plain(me == 0 ? &plain_first : &plain_second, me == 0 ? &plain_second : &plain_first);
        else if (strcmp(how, "critical") == 0)
            sleep_in_critical(me);
        else if (strcmp(how, "apart") == 0)
            keep_apart(me);
        else if (me == 0) {
#pragma omp barrier
            say_there();
            omp_set_nest_lock(&first);
        } else if (strcmp(how, "held") == 0)
            sleep_with_lock();
        else
            sleep_in_a_task();
    }
    return 0;
}
