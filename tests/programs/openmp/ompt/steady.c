/* Uses OpenMP so that every thread gets the same callbacks in the same order in every run. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int done, sum;
static omp_lock_t lock;
static omp_nest_lock_t nest;

static void with_both_threads(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp for schedule(static)
        for (int i = 0; i < 4; i++)
            __atomic_fetch_add(&sum, i, __ATOMIC_RELAXED);
#pragma omp masked
        sum++;
#pragma omp critical
        sum++;
#pragma omp flush
    }
}

/* The other thread waits without OpenMP, so that it gets no task. */
static void tasks(void)
{
    int a = 0, b = 0;
#pragma omp task depend(out : a)
    a = 1;
#pragma omp task depend(in : a) depend(out : b)
    {
#pragma omp task if (0)
        b = a + 1;
#pragma omp taskyield
    }
#pragma omp taskwait
#pragma omp taskgroup
    {
#pragma omp task shared(b)
        {
#pragma omp task shared(b)
            {
#pragma omp task shared(b)
                b++;
            }
        }
    }
#pragma omp taskloop num_tasks(2)
    for (int i = 0; i < 2; i++)
        __atomic_fetch_add(&sum, i, __ATOMIC_RELAXED);
#pragma omp taskgroup
    {
#pragma omp task if (0)
        {
#pragma omp cancel taskgroup
        }
    }
    sum += b;
}

static void with_one_working(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            tasks();
            __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
        } else {
            while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
                usleep(100);
        }
    }
}

int main(void)
{
    omp_set_max_active_levels(2);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    with_both_threads();
    with_one_working();
#pragma omp parallel num_threads(1)
    with_both_threads();
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(1)
    {
#pragma omp barrier
    } printf("%d\n", sum);
    return 0;
}
