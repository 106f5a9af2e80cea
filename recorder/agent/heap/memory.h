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
    const long page = TG_AGENT_HEAP_TABLE_OFFSET;
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
        .magic = {TG_AGENT_HEAP_TABLE_MAGIC, ~TG_AGENT_HEAP_TABLE_MAGIC}, .size_bytes = size + (size_t)page};
    if (!inherited)
        (void)tg_raw_call(SYS_madvise, start + page, (long)size, MADV_WIPEONFORK, 0, 0, 0);
    return (void *)(start + page);
}

/* The head of what tg_heap_memory_map returned. */
static inline struct tg_agent_heap_table *tg_heap_memory_head(void *memory)
{
    return (struct tg_agent_heap_table *)(void *)((char *)memory - TG_AGENT_HEAP_TABLE_OFFSET);
}

/* Gives back what tg_heap_memory_map returned for SIZE. */
static inline void tg_heap_memory_unmap(void *memory, size_t size)
{
    const long page = TG_AGENT_HEAP_TABLE_OFFSET;
    (void)tg_raw_call(SYS_munmap, (long)memory - 2 * page, (long)size + 2 * page, 0, 0, 0, 0);
}

/* Whether the process may have only so much of RESOURCE (RLIMIT_AS, RLIMIT_DATA): what the library takes of it is then missing
 * to the program. */
static inline bool tg_heap_memory_has_limit(int resource)
{
    struct rlimit64 limit;
    return tg_raw_call(SYS_prlimit64, 0, resource, 0, (long)&limit, 0, 0) == 0 &&
           limit.rlim_cur != RLIM64_INFINITY;
}

static inline bool tg_heap_memory_is_limited(void)
{
    return tg_heap_memory_has_limit(RLIMIT_AS) || tg_heap_memory_has_limit(RLIMIT_DATA);
}

#endif
