/* Two regions; the last thing in the second one is a barrier, which an optimising compiler calls by a jump: its caller is the
 * runtime then. */
#include <stdio.h>

static int sum;

int main(void)
{
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
#pragma omp critical
        sum++;
    }
#pragma omp parallel num_threads(3)
    {
        __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
#pragma omp barrier
    }
    printf("%d\n", sum);
    return 0;
}
