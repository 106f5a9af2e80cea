/* Two OpenMP threads and nest locks. usage: nest_locks HOW
 * crosswise: each has one and waits for the other; held: one has it twice and sleeps; task: it was locked in another task
 * than its owner runs now. Lines with "culprit" are where threads stay. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static omp_nest_lock_t first, second;

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
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        if (strcmp(how, "crosswise") == 0)
            lock_both(me == 0 ? &first : &second, me == 0 ? &second : &first);
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
