#include "recorder/agent/heap/real.h"

#include "recorder/agent/next.h"

#include <stdint.h>

struct tg_heap_real tg_heap_real;

/* Two threads may do this at once: they find the same. */
const struct tg_heap_real *tg_heap_real_find(void)
{
    struct tg_heap_real found;
#define X(member, symbol, result, ...)                                                                       \
    found.member = (result(*)(__VA_ARGS__))(uintptr_t)tg_agent_next(symbol);
    TG_HEAP_FUNCTIONS(X)
#undef X
    void (*found_free)(void *) = found.free;
    found.free = tg_heap_real.free;
    tg_heap_real = found;
    __atomic_store_n(&tg_heap_real.free, found_free, __ATOMIC_RELEASE);
    return &tg_heap_real;
}
