/* The program asks for its thread number, or for the number of threads: the code behind that call says
 * whether a construct begins there for which the runtime is not called. omp_get_thread_num and
 * omp_get_num_threads are here. */
#ifndef TG_RECORDER_AGENT_GOMP_NUMBERS_H
#define TG_RECORDER_AGENT_GOMP_NUMBERS_H

#include "recorder/agent/openmp.h"

/* The thread is back from a barrier that it called from CALLER, with STACK as its stack pointer before the
 * call, at MOMENT: a loop may begin there. */
void tg_gomp_numbers_after_barrier(tg_agent_moment moment, const void *caller, const void *stack);

/* The thread executes the single that it asked for from CALLER, with STACK: the code says where its end is. */
void tg_gomp_numbers_in_single(const void *caller, const void *stack);

#endif
