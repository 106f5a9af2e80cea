/* Critical sections, locks and a thread with names. */
#include <omp.h>
#include <pthread.h>

static omp_lock_t queue_lock, locks[2];
static int sum;

int main(void)
{
    omp_init_lock(&queue_lock);
    omp_init_lock(&locks[1]);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            pthread_setname_np(pthread_self(), "writer");
#pragma omp critical(update)
        sum++;
#pragma omp critical(log_file)
        sum++;
#pragma omp critical
        sum++;
        omp_set_lock(&queue_lock);
        sum++;
        omp_unset_lock(&queue_lock);
        omp_set_lock(&locks[1]);
        sum++;
        omp_unset_lock(&locks[1]);
    }
    return sum != 10;
}
