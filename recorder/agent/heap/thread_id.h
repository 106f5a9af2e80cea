/* The calling thread, as the kernel calls it. */
#ifndef TG_RECORDER_AGENT_HEAP_THREAD_ID_H
#define TG_RECORDER_AGENT_HEAP_THREAD_ID_H

#include "recorder/agent/audit/raw_system.h"
#include "recorder/agent/process.h"

/* 0 where the program has forbidden itself system calls. */
static inline int32_t tg_heap_thread_id(void)
{
    return tg_agent.no_calls ? 0 : tg_raw_thread_id();
}

#endif
