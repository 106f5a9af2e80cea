#include "recorder/rings/spare_processor.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

bool tg_spare_processor_by(const char *loadavg, int n_processors)
{
    int n_running; /* the caller is one of them */
    return sscanf(loadavg, "%*f %*f %*f %d/", &n_running) == 1 && n_running > 0 && n_running <= n_processors;
}

/* The file stays open: who looks has taken a processor from the job. -1: it cannot be. */
static int loadavg_file(void)
{
    static int file = -1; /* __atomic */
    int known = __atomic_load_n(&file, __ATOMIC_ACQUIRE), before = -1;
    if (known >= 0)
        return known;
    int opened = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (opened < 0 ||
        __atomic_compare_exchange_n(&file, &before, opened, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return opened;
    close(opened);
    return before;
}

bool tg_spare_processor(void)
{
    cpu_set_t allowed;
    char text[128];
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) /* more than 1024 processors */
        return false;
    ssize_t n = pread(loadavg_file(), text, sizeof text - 1, 0);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return tg_spare_processor_by(text, CPU_COUNT(&allowed));
}
