/* Memory that the library gets for itself, straight from the kernel. */
#ifndef TG_RECORDER_AGENT_HEAP_MEMORY_H
#define TG_RECORDER_AGENT_HEAP_MEMORY_H

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/contract.h"

#include <stdbool.h>

/* SIZE bytes, zeroed and only promised; NULL where there are none. INHERITED: a forked child has its parent's;
 * otherwise it finds zeros. In front of them a page says whose they are, for who searches the process for pointers, and
 * one that nobody may touch keeps the mapping apart from what lies below. */
static inline void *tg_heap_memory_map(size_t size, bool inherited)
{
    const long page = 4096;
    long result = tg_raw_call(SYS_mmap, 0, (long)size + 2 * page, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (result < 0 && result > -4096)
        return NULL;
    long start = result + page;
    if (tg_raw_call(SYS_mprotect, start, (long)size + page, PROT_READ | PROT_WRITE, 0, 0, 0) != 0) {
        (void)tg_raw_call(SYS_munmap, result, (long)size + 2 * page, 0, 0, 0, 0);
        return NULL;
    }
    *(struct tg_agent_heap_table *)start = (struct tg_agent_heap_table){
        {TG_AGENT_HEAP_TABLE_MAGIC, ~TG_AGENT_HEAP_TABLE_MAGIC}, size + (size_t)page};
    if (!inherited)
        (void)tg_raw_call(SYS_madvise, start + page, (long)size, MADV_WIPEONFORK, 0, 0, 0);
    return (void *)(start + page);
}

#endif
