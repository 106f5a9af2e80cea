/* Threads that stay and threads that come and go: 30 steady ones, a team of OpenMP at its barriers, and short-lived ones
 * without end. A line with a value: `turn`. */
#include <pthread.h>
#include <unistd.h>

enum { STEADY = 30, WORKERS = 3 };

volatile int turn;

static void *stay(void *unused)
{
    for (;;)
        usleep(50000);
    return unused;
}

static void *pass(void *unused)
{
    usleep(1000);
    return unused;
}

static void *come_and_go(void *unused)
{
    for (pthread_t thread; pthread_create(&thread, NULL, pass, NULL) == 0;)
        pthread_join(thread, NULL);
    return unused;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < STEADY + 2; i++)
        if (pthread_create(&thread, NULL, i < STEADY ? stay : come_and_go, NULL) != 0)
            return 1;
#pragma omp parallel num_threads(WORKERS)
    for (;;) {
#pragma omp barrier
        usleep(1000);
#pragma omp single nowait
        turn++;
    }
}
