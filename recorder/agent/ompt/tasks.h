/* Explicit tasks, their dependences and switches; cancellation. */
#ifndef TG_RECORDER_AGENT_OMPT_TASKS_H
#define TG_RECORDER_AGENT_OMPT_TASKS_H

#include "recorder/agent/ompt/words.h"

/* Callbacks. */
void tg_ompt_on_task_create(union tg_ompt_data *encountering_task, const struct tg_ompt_frame *frame,
                            union tg_ompt_data *new_task, int flags, int has_dependences, const void *code);
void tg_ompt_on_dependences(union tg_ompt_data *task, const struct tg_ompt_dependence *list, int count);
void tg_ompt_on_task_schedule(union tg_ompt_data *prior, int status, union tg_ompt_data *next);
void tg_ompt_on_cancel(union tg_ompt_data *task, int flags, const void *code);

#endif
