/* Barriers and other waits, and worksharing. */
#ifndef TG_RECORDER_AGENT_OMPT_WAITS_H
#define TG_RECORDER_AGENT_OMPT_WAITS_H

#include "recorder/agent/ompt/words.h"

/* ENDPOINT of a wait, from CODE, which may be the runtime's own. */
void tg_ompt_sync(enum tg_omp_sync sync, int endpoint, const void *code);

/* Callbacks. */
void tg_ompt_on_sync_region(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                            const void *code);
void tg_ompt_on_sync_region_wait(int kind, int endpoint, union tg_ompt_data *parallel,
                                 union tg_ompt_data *task, const void *code);
void tg_ompt_on_reduction(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                          const void *code);
void tg_ompt_on_work(int kind, int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                     uint64_t count, const void *code);
void tg_ompt_on_masked(int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                       const void *code);

#endif
