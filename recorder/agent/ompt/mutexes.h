/* Critical sections, locks, atomic and ordered constructs. */
#ifndef TG_RECORDER_AGENT_OMPT_MUTEXES_H
#define TG_RECORDER_AGENT_OMPT_MUTEXES_H

#include "recorder/agent/ompt/words.h"

/* The thread leaves the mutex ID, from CODE in the program. */
void tg_ompt_leave_mutex(enum tg_omp_mutex mutex, uint64_t id, const void *code);

/* Callbacks. */
void tg_ompt_on_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t wait_id,
                              const void *code);
void tg_ompt_on_mutex_acquired(int kind, uint64_t wait_id, const void *code);
void tg_ompt_on_mutex_released(int kind, uint64_t wait_id, const void *code);
void tg_ompt_on_nest_lock(int endpoint, uint64_t wait_id, const void *code);

#endif
