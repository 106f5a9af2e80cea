/* Asks for its thread number and for the number of threads much more often than any construct does. */
#include <omp.h>
#include <stdio.h>

enum { MANY = 1000000 };

static long by_first, by_all;

static __attribute__((noinline)) long count(long i)
{
    __asm__ volatile("" : : "r"(i) : "memory"); /* the runtime's answer is not kept */
    if (omp_get_thread_num() == 0)
        return 1;
    return 0;
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        long mine = 0;
        for (long i = 0; i < MANY; i++)
            mine += omp_get_num_threads() - omp_get_thread_num() + i % 2;
#pragma omp atomic
        by_all += mine;
        for (long i = mine = 0; i < MANY; i++)
            mine += count(i);
#pragma omp atomic
        by_first += mine;
    }
    printf("%ld %ld\n", by_all, by_first);
    return 0;
}
