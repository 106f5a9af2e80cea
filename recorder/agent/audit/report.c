#include "recorder/agent/audit/report.h"

struct tg_agent_loads tollgate_loads;

/* What it returns is nothing that a compiler could know: it may come from the recorder's stop. */
__attribute__((noinline)) uint64_t tollgate_report_load(uint64_t namespace_number,
                                                        const struct link_map *first, uint64_t action)
{
    uint64_t told = 0;
    __asm__ volatile("" : "+r"(told) : "r"(namespace_number), "r"(first), "r"(action) : "memory");
    return told;
}

void tg_audit_report_opened(const struct link_map *map)
{
    uint64_t i = tollgate_loads.opened;
    tollgate_loads.log[i % TG_AGENT_LOADS_LOG] = (uint64_t)(uintptr_t)map;
    __atomic_store_n(&tollgate_loads.opened, i + 1, __ATOMIC_RELEASE);
}
