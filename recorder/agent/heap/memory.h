/* Memory that the library gets for itself, straight from the kernel. */
#ifndef TG_RECORDER_AGENT_HEAP_MEMORY_H
#define TG_RECORDER_AGENT_HEAP_MEMORY_H

#include "recorder/agent/audit/raw_system.h"

#include <stdbool.h>

/* SIZE bytes, zeroed and only promised; NULL where there are none. INHERITED: a forked child has its parent's;
 * otherwise it finds zeros. */
static inline void *tg_heap_memory_map(size_t size, bool inherited)
{
    long result = tg_raw_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (result < 0 && result > -4096)
        return NULL;
    if (!inherited)
        (void)tg_raw_call(SYS_madvise, result, (long)size, MADV_WIPEONFORK, 0, 0, 0);
    return (void *)result;
}

#endif
