/* The loaded object that a program's call of an OpenMP entry point would have reached without the agent.
 *
 * Where a runtime is among the libraries that the program started with, it is the same one for all callers,
 * and stays: that is asked once. A runtime that came later by dlopen may be one of several (wheels of Python
 * bring their own each), belongs to those who link with it, and may be unloaded: that is asked at each call
 * from outside of a region, and remembered until an object comes or goes. */
#ifndef TG_RECORDER_AGENT_GOMP_PROVIDER_H
#define TG_RECORDER_AGENT_GOMP_PROVIDER_H

#include "recorder/agent/next.h"

#include <stddef.h>

/* How many objects the process started with; from the agent's constructor. */
void tg_gomp_provider_count_startup(void);

/* True where the first definition of NAME behind the agent is in an object that the program started with. */
bool tg_gomp_provider_is_startup(const char *name);

/* Changes whenever an object comes or goes. */
uint64_t tg_gomp_provider_epoch(void);

struct tg_gomp_provider {
    struct tg_agent_symbols symbols;
    uintptr_t caller_start, caller_end; /* the caller's object; empty: it is in none */
};

/* Finds who defines NAME for a call from CODE: a library that CODE's object links with, however indirectly,
 * or else the first of all. False: nobody. */
bool tg_gomp_provider_find(const char *name, const void *code, struct tg_gomp_provider *provider);

#endif
