/* Threads for a debugger to be measured with: `live_load THREADS NAP_US` runs THREADS of them until it is
 * killed; each calls come_by again and again, with a nap in between. "ready" is printed when all are
 * there. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int n_ready;
static atomic_long n_calls;
static unsigned nap_us;

/* Breakpoints and barriers are planted here. VALUE is never negative. */
__attribute__((noinline)) void come_by(int value)
{
    atomic_fetch_add(&n_calls, value >= 0);
}

static void *run(void *argument)
{
    int number = (int)(intptr_t)argument;
    atomic_fetch_add(&n_ready, 1);
    for (;;) {
        come_by(number);
        usleep(nap_us);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n_threads = argc == 3 ? atoi(argv[1]) : 0;
    nap_us = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (int i = 1; i < n_threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run, (void *)(intptr_t)i) != 0)
            return 1;
    }
    while (n_ready < n_threads - 1)
        usleep(1000);
    puts("ready");
    fflush(stdout);
    run(NULL);
}
