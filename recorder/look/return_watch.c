#include "recorder/look/return_watch.h"

#include "format/base/array.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counter {
    pid_t tid;
    int fd;
};

struct tg_return_watch {
    struct counter *counters;
    size_t count, capacity, max;
    int warm_fd;         /* -1 none */
    bool counts_nothing; /* counters can be had, and stay as they are */
    char refusal[160];
};

static int open_counter(const struct perf_event_attr *attributes, pid_t tid)
{
    return (int)syscall(SYS_perf_event_open, attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr attributes_for(uint64_t address)
{
    return (struct perf_event_attr){
        .type = PERF_TYPE_BREAKPOINT,
        .size = sizeof(struct perf_event_attr),
        .bp_type = HW_BREAKPOINT_X,
        .bp_addr = address,
        .bp_len = sizeof(long), /* as the kernel wants it of instructions */
        .read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
}

static __attribute__((noinline)) void pass(void)
{
    __asm__ volatile("");
}

/* Whether a counter of this thread's own misses what the thread does: virtual machines may take what is written to debug
 * registers, and never trap. False where there is no counter: why is known when one is wanted. */
static bool misses_own_calls(void)
{
    enum { CALLS = 3 };
    uint64_t counted[2] = {0};
    const struct perf_event_attr attributes = attributes_for((uint64_t)(uintptr_t)pass);
    int fd = open_counter(&attributes, 0);
    if (fd < 0)
        return false;
    for (int i = 0; i < CALLS; i++)
        pass();
    bool misses = read(fd, counted, sizeof counted) == sizeof counted && counted[0] != CALLS;
    close(fd);
    return misses;
}

struct tg_error *tg_return_watch_create(struct tg_return_watch **result)
{
    struct rlimit files = {0};
    struct tg_return_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return tg_error_no_memory();
    getrlimit(RLIMIT_NOFILE, &files);
    watch->max = files.rlim_cur == RLIM_INFINITY ? 1 << 14 : (size_t)files.rlim_cur / 2;
    /* the first event of a task has the kernel wait for all processors: not while somebody else stands still */
    struct perf_event_attr nothing = {.type = PERF_TYPE_SOFTWARE,
                                      .size = sizeof nothing,
                                      .config = PERF_COUNT_SW_DUMMY,
                                      .exclude_kernel = 1,
                                      .exclude_hv = 1};
    watch->warm_fd = open_counter(&nothing, 0);
    watch->counts_nothing = misses_own_calls();
    *result = watch;
    return NULL;
}

void tg_return_watch_destroy(struct tg_return_watch *watch)
{
    if (watch == NULL)
        return;
    for (size_t i = 0; i < watch->count; i++)
        close(watch->counters[i].fd);
    if (watch->warm_fd >= 0)
        close(watch->warm_fd);
    free(watch->counters);
    free(watch);
}

/* The number in /proc/sys/kernel/perf_event_paranoid; -2 unknown. */
static int paranoid(void)
{
    int level = -2;
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file != NULL && fscanf(file, "%d", &level) != 1)
        level = -2;
    if (file != NULL)
        fclose(file);
    return level;
}

static void note_refusal(struct tg_return_watch *watch, int why)
{
    if (*watch->refusal != '\0' || why == ESRCH)
        return;
    if (why == EACCES || why == EPERM)
        snprintf(watch->refusal, sizeof watch->refusal,
                 "perf_event_open is not permitted (/proc/sys/kernel/perf_event_paranoid is %d)", paranoid());
    else if (why == ENOSPC)
        snprintf(watch->refusal, sizeof watch->refusal, "the debug registers are in use");
    else
        snprintf(watch->refusal, sizeof watch->refusal, "perf_event_open: %s", strerror(why));
}

/* An answer of 0 would say that a thread has not come back. */
static void note_no_traps(struct tg_return_watch *watch)
{
    if (*watch->refusal == '\0')
        snprintf(watch->refusal, sizeof watch->refusal,
                 "this machine accepts hardware breakpoints but does not report them");
}

static bool add(struct tg_return_watch *watch, pid_t tid, int fd)
{
    return TG_ARRAY_APPEND(watch->counters, watch->count, watch->capacity, ((struct counter){tid, fd})) ==
           NULL;
}

void tg_return_watch_add(struct tg_return_watch *watch, pid_t tid, uint64_t address)
{
    const struct perf_event_attr attributes = attributes_for(address);
    if (watch->count >= watch->max)
        return;
    int fd = open_counter(&attributes, tid);
    if (fd < 0)
        note_refusal(watch, errno);
    else if (watch->counts_nothing)
        note_no_traps(watch);
    if (fd >= 0 && (watch->counts_nothing || !add(watch, tid, fd)))
        close(fd);
}

bool tg_return_watch_take(struct tg_return_watch *watch, pid_t tid, struct tg_look_activity *activity)
{
    struct {
        uint64_t count, ran_ns;
    } counted;
    size_t i = 0;
    while (i < watch->count && watch->counters[i].tid != tid)
        i++;
    if (i == watch->count)
        return false;
    bool is_read = read(watch->counters[i].fd, &counted, sizeof counted) == sizeof counted;
    close(watch->counters[i].fd);
    watch->counters[i] = watch->counters[--watch->count];
    if (is_read) {
        activity->returns = counted.count;
        activity->ran_ns = counted.ran_ns;
    }
    return is_read;
}

const char *tg_return_watch_refusal(const struct tg_return_watch *watch)
{
    return *watch->refusal != '\0' ? watch->refusal : NULL;
}
