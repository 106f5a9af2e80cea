#include "analyzer/models/heap/growth.h"

enum { FIRST_STEP_NS = 1 << 16 };

/* Pairs of steps become one. */
static void halve(struct tg_heap_growth *growth)
{
    for (size_t i = 0; i < growth->count; i += 2) {
        struct tg_heap_point point = growth->points[i];
        if (i + 1 < growth->count) {
            point.last = growth->points[i + 1].last;
            if (growth->points[i + 1].highest > point.highest)
                point.highest = growth->points[i + 1].highest;
        }
        growth->points[i / 2] = point;
    }
    growth->count = (growth->count + 1) / 2;
    growth->step_ns *= 2;
}

void tg_heap_growth_add(struct tg_heap_growth *growth, uint64_t time_ns, uint64_t value)
{
    if (growth->count == 0) {
        growth->start_ns = time_ns;
        growth->step_ns = FIRST_STEP_NS;
        growth->points[growth->count++] = (struct tg_heap_point){0};
    }
    uint64_t past_ns = time_ns > growth->start_ns ? time_ns - growth->start_ns : 0;
    while (past_ns / growth->step_ns >= TG_HEAP_GROWTH_POINTS)
        halve(growth);
    struct tg_heap_point *last = &growth->points[growth->count - 1];
    while (growth->count <= past_ns / growth->step_ns) {
        growth->points[growth->count++] = (struct tg_heap_point){last->last, last->last};
        last++;
    }
    last->last = value;
    if (value > last->highest)
        last->highest = value;
}
