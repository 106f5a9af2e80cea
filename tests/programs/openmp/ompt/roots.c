/* Threads of its own, one after another, that enter what excludes others: the first of them is LLVM's thread 0,
 * which is gone when the others come. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3 };

static omp_lock_t lock;
static omp_nest_lock_t nest;
static long count;

static void *enter(void *argument)
{
#pragma omp critical
    count++;
#pragma omp critical(named)
    {
#pragma omp critical(inner)
        count++;
    }
    omp_set_lock(&lock);
    count++;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    count++;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
#pragma omp parallel for ordered num_threads(1)
    for (int i = 0; i < 1; i++)
#pragma omp ordered
        count++;
    return argument;
}

int main(void)
{
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, enter, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    }
    printf("%ld\n", count);
    return 0;
}
