/* Locks that are tested while another thread is inside: once, and in a loop of 1,000 tests; then they are got. */
#include <omp.h>
#include <stdio.h>

static omp_lock_t lock;
static omp_nest_lock_t nest;

int main(void)
{
    int failed = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2) reduction(+ : failed)
    {
        if (omp_get_thread_num() == 0) {
            omp_set_lock(&lock);
            omp_set_nest_lock(&nest);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1) {
            failed += omp_test_nest_lock(&nest) == 0;
            for (int i = 0; i < 1000; i++)
                failed += omp_test_lock(&lock) == 0;
        }
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
            omp_unset_nest_lock(&nest);
            omp_unset_lock(&lock);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1 && omp_test_lock(&lock))
            omp_unset_lock(&lock);
    }
    printf("%d\n", failed);
}
