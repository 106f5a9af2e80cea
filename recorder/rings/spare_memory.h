/* Memory that the machine, and the groups (cgroups) that this process is in, have left. */
#ifndef TG_RECORDER_RINGS_SPARE_MEMORY_H
#define TG_RECORDER_RINGS_SPARE_MEMORY_H

#include <stdint.h>

/* Bytes: the least of what MemAvailable of /proc/meminfo says and what each group above this process may still take
 * (cgroup version 2). 0 where it is not known. */
uint64_t tg_spare_memory(void);

#endif
