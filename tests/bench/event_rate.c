/* Makes OpenMP events at a given rate, for event_rate.py: each thread takes and gives back a lock of its own,
 * three events, in bursts that keep to the clock.
 *
 * usage: event_rate EVENTS-PER-SECOND SECONDS THREADS     prints "EVENTS NS": how many, in what time */
#include <err.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BURST = 300 /* events, 100 times a lock */ };

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

/* The thread's events; the next burst begins when it is due, or at once where it is late. */
static long produce(double events_per_ns, double seconds)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    double start = now_ns(), end = start + seconds * 1e9;
    long events = 0;
    for (double now = start; now < end; now = now_ns()) {
        if ((now - start) * events_per_ns < (double)events)
            continue;
        for (int i = 0; i < BURST / 3; i++) {
            omp_set_lock(&lock);
            omp_unset_lock(&lock);
        }
        events += BURST;
    }
    omp_destroy_lock(&lock);
    return events;
}

int main(int argc, char **argv)
{
    if (argc != 4 || atof(argv[1]) <= 0 || atof(argv[2]) <= 0 || atoi(argv[3]) <= 0)
        errx(2, "usage: event_rate EVENTS-PER-SECOND SECONDS THREADS");
    double rate = atof(argv[1]), seconds = atof(argv[2]);
    int threads = atoi(argv[3]);
    long events = 0;
    double start = now_ns();
#pragma omp parallel num_threads(threads) reduction(+ : events)
    events += produce(rate / threads / 1e9, seconds);
    printf("%ld %.0f\n", events, now_ns() - start);
    return 0;
}
