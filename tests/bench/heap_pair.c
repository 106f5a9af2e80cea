/* Pairs of malloc and free, or of operator new and delete, below a stack of DEPTH calls.
 * usage: heap_pair DEPTH PAIRS; says the ns of one pair, the fastest of 15 rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *volatile kept;

#ifdef WITH_OPERATORS
void *_Znwm(size_t size);
void _ZdlPv(void *block);
#define TAKE _Znwm
#define GIVE _ZdlPv
#else
#define TAKE malloc
#define GIVE free
#endif

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

__attribute__((noinline)) static void run_pairs(long n)
{
    for (long i = 0; i < n; i++) {
        void *block = TAKE(16 + (size_t)(i & 255));
        kept = block;
        GIVE(block);
    }
}

__attribute__((noinline)) static void descend(int depth, long n)
{
    if (depth == 0)
        run_pairs(n);
    else
        descend(depth - 1, n);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 0;
    long n = argc > 2 ? atol(argv[2]) : 100000;
    double best = 1e18;
    for (int round = 0; round < 15; round++) {
        double start = now_ns();
        descend(depth, n);
        double each = (now_ns() - start) / (double)n;
        best = each < best ? each : best;
    }
    fprintf(stderr, "%.1f\n", best);
    return 0;
}
