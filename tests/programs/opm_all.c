/* Every construct of OpenMP, again and again, and sums that do not depend on who does what: opm_all ROUNDS THREADS */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long sums[20];
static int is_cancelled[2];
static omp_lock_t lock;

static void add(int which, long value)
{
    __atomic_fetch_add(&sums[which], value, __ATOMIC_RELAXED);
}

static void fib(int n)
{
    if (n < 2) {
        add(0, n);
        return;
    }
#pragma omp task
    fib(n - 1);
#pragma omp task if (n > 3)
    fib(n - 2);
#pragma omp taskwait
}

static void share_out(void)
{
#pragma omp for schedule(static)
    for (int i = 0; i < 16; i++)
        add(1, i);
#pragma omp for schedule(dynamic, 2) nowait
    for (long i = 0; i < 16; i++)
        add(2, i);
#pragma omp for schedule(guided)
    for (unsigned i = 0; i < 16; i++)
        add(3, i);
#pragma omp for ordered schedule(dynamic)
    for (int i = 0; i < 6; i++) {
#pragma omp ordered
        add(4, i);
    }
#pragma omp for ordered(1)
    for (int i = 0; i < 6; i++) {
#pragma omp ordered depend(sink : i - 1)
        add(5, i);
#pragma omp ordered depend(source)
    }
#pragma omp sections
    {
#pragma omp section
        add(6, 1);
#pragma omp section
        add(6, 2);
#pragma omp section
        add(6, 3);
    }
}

static void choose_one(void)
{
    int value = 0;
#pragma omp single
    add(7, 1);
#pragma omp single nowait
    add(7, 2);
#pragma omp single copyprivate(value)
    value = 5;
    add(8, value);
#pragma omp master
    add(9, 1);
#pragma omp barrier
}

static void exclude_each_other(void)
{
#pragma omp critical
    sums[10]++;
#pragma omp critical(other)
    sums[11]++;
    omp_set_lock(&lock);
    sums[12]++;
    omp_unset_lock(&lock);
#pragma omp atomic
    sums[13]++;
}

static void make_tasks(void)
{
#pragma omp single
    fib(5);
#pragma omp master
    {
#pragma omp taskgroup
        {
            for (int i = 0; i < 3; i++) {
#pragma omp task firstprivate(i)
                add(14, i);
            }
        }
#pragma omp taskloop grainsize(2)
        for (int i = 0; i < 8; i++)
            add(15, i);
    }
#pragma omp barrier
}

static void nest(void)
{
#pragma omp parallel num_threads(2)
    {
        add(16, 1);
#pragma omp barrier
#pragma omp single
        add(16, 10);
#pragma omp critical(inner)
        sums[17]++;
    }
}

static void cancel(int round)
{
#pragma omp for
    for (int i = 0; i < 64; i++) {
        __atomic_store_n(&is_cancelled[0], 1, __ATOMIC_RELAXED);
#pragma omp cancel for if (i % 16 == 3)
#pragma omp cancellation point for
    }
#ifdef CANCEL_PARALLEL
    if (round % 3 == 2) {
#pragma omp parallel num_threads(2)
        {
            __atomic_store_n(&is_cancelled[1], 1, __ATOMIC_RELAXED);
#pragma omp cancel parallel if (omp_get_thread_num() == 1)
#pragma omp barrier
        }
    }
#endif
    add(18, round);
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? atoi(argv[1]) : 3, n_threads = argc > 2 ? atoi(argv[2]) : 4;
    omp_set_max_active_levels(2);
    omp_init_lock(&lock);
    for (int round = 0; round < n_rounds; round++) {
#pragma omp parallel num_threads(n_threads)
        {
            share_out();
            choose_one();
            exclude_each_other();
            make_tasks();
            if (omp_get_thread_num() % 2 == 0)
                nest();
            cancel(round);
        }
        long total = 0;
#pragma omp parallel for num_threads(n_threads) reduction(+ : total)
        for (int i = 0; i < 100; i++)
            total += i;
        add(19, total);
    }
    for (int i = 0; i < 20; i++)
        printf("%ld ", sums[i]);
    printf("%d %d\n", is_cancelled[0], n_rounds < 3 || is_cancelled[1]);
    return 0;
}
