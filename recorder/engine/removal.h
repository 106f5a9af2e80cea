/* Threads and processes leave the tables: they ended, or were detached. */
#ifndef TG_RECORDER_ENGINE_REMOVAL_H
#define TG_RECORDER_ENGINE_REMOVAL_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

void tg_tracee_remove(struct tg_tracee *tracee);
/* Removes PROCESS with its remaining threads, after telling observers that started. */
void tg_process_remove(struct tg_process *process);

#endif
