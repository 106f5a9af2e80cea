/* Ends of critical sections, ordered regions and locks of a runtime with OMPT.
 *
 * LLVM's runtime tells the end of a critical section (mutex_released) by way of its thread 0, as its source has
 * it: __kmpc_end_critical, OMPT_LOAD_RETURN_ADDRESS(0). Where the thread that was that one has ended, every tool
 * that asks for the callback makes the program crash there. So the agent does not ask for it where it stands
 * before the functions that release; then it also says so before the next thread is inside.
 *
 * All of it is async-signal-safe. */
#ifndef TG_RECORDER_AGENT_OMPT_RELEASES_H
#define TG_RECORDER_AGENT_OMPT_RELEASES_H

#include "recorder/agent/ompt/mutexes.h"
#include "recorder/agent/ompt/position.h"

/* The thread is about to enter CRITICAL, the program's variable for it, of which runtimes tell something else. */
static inline void tg_ompt_enters(const void *critical)
{
    tg_ompt_thread.critical = critical;
}

/* Whether the call from CODE of FUNCTION, the real one, is the program's, of the runtime that is watched: that
 * one may call itself by a name that the program calls as well, and there may be others. */
static inline bool tg_ompt_is_call(const void *code, const void *function)
{
    uintptr_t start = tg_ompt_runtime.start, size = tg_ompt_runtime.end - start;
    return (uintptr_t)function - start < size && (uintptr_t)code - start >= size;
}

/* The same of a function that releases, where its calls say so. */
static inline bool tg_ompt_is_release(const void *code, const void *function)
{
    return tg_ompt_runtime.watches_releases && tg_ompt_is_call(code, function);
}

/* The program, at CODE, tests a lock of the runtime that is watched: LLVM's runtime 14 says that it waits for it. */
static inline void tg_ompt_begin_test(const void *code)
{
    tg_ompt_thread.code = code; /* the runtime sees the agent there */
    tg_openmp_tests.is_testing = true;
}

/* RESULT is what that test returned, 0: in vain. Returns it. */
static inline int tg_ompt_end_test(int result, enum tg_omp_mutex mutex, const void *lock, const void *code)
{
    tg_openmp_tests.is_testing = false;
    if (result == 0)
        tg_openmp_mutex_test(code, TG_OMP_OMPT, mutex, lock);
    else
        tg_openmp_tests.lock = 0;
    return result;
}

/* The thread is about to release what it is inside of, from CODE; LOCK is NULL unless MUTEX is a lock. */
void tg_ompt_release(enum tg_omp_mutex mutex, const void *lock, const void *code);

#endif
