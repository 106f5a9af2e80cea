/* A quantity over time in a bounded number of points: what it was at the end of each step, and its peak within it. */
#ifndef TG_ANALYZER_MODELS_HEAP_GROWTH_H
#define TG_ANALYZER_MODELS_HEAP_GROWTH_H

#include <stddef.h>
#include <stdint.h>

enum { TG_HEAP_GROWTH_POINTS = 256 };

struct tg_heap_point {
    uint64_t last, highest;
};

/* Caller's storage; zero-initialised is empty. Steps begin at START_NS and double when time goes beyond the last. */
struct tg_heap_growth {
    uint64_t start_ns, step_ns;
    size_t count; /* steps that there are; the last one is not over */
    struct tg_heap_point points[TG_HEAP_GROWTH_POINTS];
};

/* The quantity is VALUE from TIME_NS on. Times before the last step count as that. */
void tg_heap_growth_add(struct tg_heap_growth *growth, uint64_t time_ns, uint64_t value);

#endif
