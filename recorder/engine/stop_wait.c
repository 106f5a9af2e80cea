#include "recorder/engine/stop_wait.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

enum {
    SHORT_WAIT_NS = 300 * 1000, /* with both wake-ups across processors in it */
    LOOK_NS = 100 * 1000,       /* how long to look before sleeping */
    WANTED_NS = 100 * 1000,     /* a look that takes this long: somebody else ran */
    MANY_SHORT_WAITS = 8,       /* the count saturates here */
    ENOUGH_SHORT_WAITS = 2,     /* to start looking */
    SLEEPS_AFTER_WANTED = 256,  /* waits without looking then */
    MAX_THREADS_LOOKED_AT = 64, /* the kernel walks the list of all threads at each look */
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Only what this thread traces or forked: helper processes of other threads are not ours to reap. */
static const int wait_options = __WALL | __WNOTHREAD;

static bool is_wanted(const struct tg_stop_wait *wait)
{
    return wait->wanted != NULL && atomic_load(wait->wanted);
}

/* waitpid that does not begin to sleep where the wait is wanted. */
static pid_t sleep_for(const struct tg_stop_wait *wait, pid_t pid, int *status)
{
    if (!is_wanted(wait))
        return waitpid(pid, status, wait_options);
    errno = EINTR;
    return -1;
}

/* Looks for a stop for a short time from START_NS on; 0 where none came. */
static pid_t look(struct tg_stop_wait *wait, pid_t pid, uint64_t start_ns, int *status)
{
    uint64_t last_ns = start_ns;
    for (;;) {
        sched_yield(); /* first: the thread that was just resumed may be waiting for this processor */
        pid_t tid = waitpid(pid, status, wait_options | WNOHANG);
        if (tid != 0)
            return tid;
        if (is_wanted(wait))
            return 0;
        uint64_t ns = now_ns();
        if (ns - last_ns > WANTED_NS) {
            wait->sleeps_due = SLEEPS_AFTER_WANTED;
            return 0;
        }
        if (ns - start_ns > LOOK_NS)
            return 0;
        last_ns = ns;
    }
}

static bool is_alone(struct tg_stop_wait *wait)
{
    if (wait->processors == TG_PROCESSORS_UNKNOWN) {
        cpu_set_t allowed;
        bool one = sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == 1;
        wait->processors = one ? TG_PROCESSORS_ONE : TG_PROCESSORS_MANY;
    }
    return wait->processors == TG_PROCESSORS_ONE;
}

pid_t tg_stop_wait(struct tg_stop_wait *wait, pid_t pid, size_t n_threads, int *status)
{
    if (is_alone(wait))
        return sleep_for(wait, pid, status);
    uint64_t start_ns = now_ns();
    pid_t tid = 0;
    if (wait->sleeps_due > 0)
        wait->sleeps_due--;
    else if (wait->short_waits >= ENOUGH_SHORT_WAITS && n_threads <= MAX_THREADS_LOOKED_AT)
        tid = look(wait, pid, start_ns, status);
    if (tid == 0)
        tid = sleep_for(wait, pid, status);
    int waited_errno = errno;
    if (now_ns() - start_ns > SHORT_WAIT_NS)
        wait->short_waits /= 2;
    else if (wait->short_waits < MANY_SHORT_WAITS)
        wait->short_waits++;
    errno = waited_errno;
    return tid;
}
