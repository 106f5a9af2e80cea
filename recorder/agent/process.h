/* The process that the agent is in: what all parts read of it. Set up by the constructor, or by the first
 * record if that comes earlier. */
#ifndef TG_RECORDER_AGENT_PROCESS_H
#define TG_RECORDER_AGENT_PROCESS_H

#include "recorder/agent/contract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

#define TG_AGENT_EXPORT              __attribute__((visibility("default")))
#define TG_AGENT_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define TG_AGENT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* What the heap library (recorder/agent/heap) uses of this one: it knows it by a second name, TG_AGENT_SHARE's, and
 * weakly, for it may have been loaded alone. */
#ifdef TG_AGENT_GUEST
#define TG_AGENT_SHARED(name) __asm__("tollgate_" #name) __attribute__((visibility("default"), weak))
#else
#define TG_AGENT_SHARED(name)
#endif
#define TG_AGENT_SHARE(name)                                                                                 \
    extern __typeof__(name) tollgate_##name __attribute__((alias(#name), visibility("default")))

/* The one state of the process. */
struct tg_agent {
    struct tg_agent_control *control; /* NULL: nothing is recorded */
    /* Counts the processes that this memory was forked through, from 1; a fork's child finds it zeroed
     * (MADV_WIPEONFORK) and sets it. */
    volatile uint64_t *generation;
    uint32_t flags;          /* enum tg_agent_flag; 0 where nothing is recorded */
    uint32_t clock;          /* enum tg_agent_clock */
    const uint32_t *n_gates; /* the control page's; where there is none, of a 0 */
    bool no_calls; /* the program forbids itself system calls (calls/sealed.c): nothing here makes any */
    /* __atomic: ids of OpenMP regions and of tasks, from 1; apart from what every record reads */
    uint64_t next_team __attribute__((aligned(64)));
    uint64_t next_task __attribute__((aligned(64)));
};
extern struct tg_agent tg_agent TG_AGENT_SHARED(tg_agent);

static inline uint64_t tg_agent_ticks(void)
{
    if (TG_AGENT_LIKELY(tg_agent.clock == TG_AGENT_CLOCK_TSC))
        return __rdtsc();
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Sets the agent up where that has not happened yet. False: there is nothing to record for. */
bool tg_agent_is_set_up(void) TG_AGENT_SHARED(tg_agent_is_set_up);

/* True where FLAGS, all of them, are to be observed in this process. Also sets the agent up, so that it may
 * be called before the constructor ran. */
bool tg_agent_observes(uint32_t flags);

/* Counts the times when a library may have been unloaded, so that what is remembered of libraries can be
 * dropped. */
uint64_t tg_agent_unloads(void) TG_AGENT_SHARED(tg_agent_unloads);
void tg_agent_count_unload(void);

#endif
