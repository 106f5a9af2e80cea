/* Waits of a job that came to an end: how many, and how long the longest took. What is usual for a job. */
#ifndef TG_ANALYZER_MODELS_WAIT_TIMES_H
#define TG_ANALYZER_MODELS_WAIT_TIMES_H

#include <stdint.h>

/* All zero: none yet. */
struct tg_wait_times {
    uint64_t count;
    uint64_t longest_ns;
};

/* A wait from SINCE_NS to UNTIL_NS is over; clocks that went back count as no time. */
static inline void tg_wait_times_add(struct tg_wait_times *times, uint64_t since_ns, uint64_t until_ns)
{
    uint64_t lasted_ns = until_ns > since_ns ? until_ns - since_ns : 0;
    times->count++;
    if (lasted_ns > times->longest_ns)
        times->longest_ns = lasted_ns;
}

#endif
