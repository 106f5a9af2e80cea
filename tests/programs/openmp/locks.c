/* Locks, in one thread after the other, and a test of one that is taken: nothing of it depends on time. */
#include <omp.h>

static omp_lock_t lock;
static omp_nest_lock_t nest;

int main(void)
{
    int in_vain = 0, n = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(3) reduction(+ : n)
    {
        omp_set_lock(&lock);
        n++;
        omp_unset_lock(&lock);
        while (!omp_test_nest_lock(&nest))
            ;
        omp_set_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    if (omp_test_lock(&lock) == 0)
        return 1;
    in_vain += omp_test_lock(&lock) == 0;
    in_vain += omp_test_lock(&lock) == 0;
    omp_unset_lock(&lock);
    return n == 3 && in_vain == 2 ? 0 : 1;
}
