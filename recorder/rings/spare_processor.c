#include "recorder/rings/spare_processor.h"

#include <sched.h>
#include <stdio.h>

bool tg_spare_processor_by(const char *loadavg, int n_processors)
{
    int n_running; /* the caller is one of them */
    return sscanf(loadavg, "%*f %*f %*f %d/", &n_running) == 1 && n_running > 0 && n_running <= n_processors;
}

bool tg_spare_processor(void)
{
    cpu_set_t allowed;
    char text[128];
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) /* more than 1024 processors */
        return false;
    FILE *file = fopen("/proc/loadavg", "re");
    if (file == NULL)
        return false;
    bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return is_read && tg_spare_processor_by(text, CPU_COUNT(&allowed));
}
