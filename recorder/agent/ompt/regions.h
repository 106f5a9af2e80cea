/* Parallel regions and implicit tasks. */
#ifndef TG_RECORDER_AGENT_OMPT_REGIONS_H
#define TG_RECORDER_AGENT_OMPT_REGIONS_H

#include "recorder/agent/ompt/words.h"

/* Callbacks. */
void tg_ompt_on_thread_end(union tg_ompt_data *thread_data);
void tg_ompt_on_parallel_begin(union tg_ompt_data *encountering_task, const struct tg_ompt_frame *frame,
                               union tg_ompt_data *parallel, unsigned requested, int flags, const void *code);
void tg_ompt_on_parallel_end(union tg_ompt_data *parallel, union tg_ompt_data *encountering_task, int flags,
                             const void *code);
void tg_ompt_on_implicit_task(int endpoint, union tg_ompt_data *parallel, union tg_ompt_data *task,
                              unsigned team_size, unsigned index, int flags);

/* Behind libgomp's entry points LLVM's runtime does not tell the end of a single that this thread
 * executes. */
tg_agent_moment tg_ompt_end_single(void);
/* The thread is through with the body of PLACE, its innermost. Returns the moment. */
tg_agent_moment tg_ompt_end_body(struct tg_ompt_place *place);

#endif
