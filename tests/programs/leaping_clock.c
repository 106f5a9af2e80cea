/* Preloaded: the clock that progress is told by leaps ahead each time somebody looks at it, so that all takes long. */
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static long looks;
    long result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_MONOTONIC_COARSE && time != NULL)
        time->tv_sec += __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
    return (int)result;
}
