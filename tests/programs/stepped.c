/* A parallel region to step through, and calls before and behind it. usage: stepped */
#include <omp.h>
#include <stdio.h>

static volatile long total;

static long leaf(long x)
{                   /* leaf begin */
    long y = x * 2; /* leaf 1 */
    return y + 1;   /* leaf 2 */
} /* leaf end */

static long work(int n)
{                                                      /* work begin */
    long sum = 0;                                      /* work 1 */
#pragma omp parallel num_threads(4) reduction(+ : sum) /* region */
    {
        int me = omp_get_thread_num(); /* body 1 */
        long mine = leaf(me);          /* body 2 */
        for (int i = 0; i < n; i++)    /* body 3 */
            mine += leaf(i);           /* body 4 */
        sum += mine;                   /* body 5 */
    }
    total += sum; /* work 2 */
    return sum;   /* work 3 */
}

int main(void)
{
    long sum = work(3); /* main 1 */
    sum += work(4);     /* main 2 */
    printf("%ld\n", sum);
    return 0;
}
