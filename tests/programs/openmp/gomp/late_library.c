#include <omp.h>

static long in_static_loop(int n_threads)
{
    long sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) num_threads(n_threads)
    for (int i = 0; i < 1000; i++)
        sum += i;
    return sum;
}

/* The sum says whether all iterations were executed once: they are not where a thread asks one runtime for
 * its number and is another one's. */
long work(int n_threads)
{
    omp_lock_t lock;
    long sum = in_static_loop(n_threads), many = 0;
    omp_init_lock(&lock);
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
#pragma omp critical
    sum++;
#pragma omp parallel num_threads(n_threads)
    {
        int size = omp_get_num_threads();
#pragma omp critical
        many += size;
#pragma omp barrier
#pragma omp for schedule(dynamic) reduction(+ : many)
        for (int i = 0; i < 10; i++)
            many += i;
#pragma omp single
#pragma omp task
        many += 1000;
    }
    return sum + many * 1000000;
}
