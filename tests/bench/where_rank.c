/* A rank that waits: 4 threads, each 20 calls deep, one of which notes the longest time for which it did not run.
 * usage: where_rank FILE: 8 bytes, the longest gap in nanoseconds; whoever sets it to 0 starts anew */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 20, TICK_NS = 200 * 1000 };

static volatile uint64_t *longest;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void beat(void)
{
    static const struct timespec tick = {.tv_nsec = TICK_NS};
    for (uint64_t last = now_ns();;) {
        nanosleep(&tick, NULL);
        uint64_t now = now_ns();
        if (now - last > *longest)
            *longest = now - last;
        last = now;
    }
}

static __attribute__((noinline)) int descend(int depth, void (*act)(void))
{
    if (depth == 0)
        act();
    else
        descend(depth - 1, act);
    return depth + (*longest != 0);
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

static void *wait_deep(void *unused)
{
    descend(DEPTH - 3, wait_for_ever);
    return unused;
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    longest = mmap(NULL, sizeof *longest, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (longest == MAP_FAILED)
        return 2;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, wait_deep, NULL);
    }
    descend(DEPTH - 3, beat);
    return 0;
}
