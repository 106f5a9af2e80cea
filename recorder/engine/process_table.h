/* Processes and threads by id. */
#ifndef TG_RECORDER_ENGINE_PROCESS_TABLE_H
#define TG_RECORDER_ENGINE_PROCESS_TABLE_H

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/tracee.h"

struct tg_tracee *tg_tracee_find(struct tg_engine *engine, pid_t tid);
/* NULL without memory. */
struct tg_tracee *tg_tracee_add(struct tg_process *process, pid_t tid);
struct tg_process *tg_process_find(struct tg_engine *engine, pid_t pid);
/* A process without threads; takes the reference on SPACE. NULL without memory (SPACE is then untouched). */
struct tg_process *tg_process_add(struct tg_engine *engine, pid_t pid, enum tg_process_origin origin,
                                  struct tg_address_space *space);
/* Whether a process that stays shares the memory of PROCESS, which is being detached. */
bool tg_process_shares_memory(const struct tg_process *process);

#endif
