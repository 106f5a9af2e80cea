/* Threads that may be in the middle of a fork. */
#ifndef TG_RECORDER_ENGINE_FORKING_H
#define TG_RECORDER_ENGINE_FORKING_H

#include "recorder/engine/engine_internal.h"

#include <stdbool.h>
#include <sys/types.h>

/* Could thread TID be on its way to report a fork? Not if it waits in another system call. */
bool tg_forking_is_possible(pid_t tid);

/* A fork that had begun when its thread was seized reports nothing, and its child is nobody's: if the child's
 * memory was copied with int3s in it, the child would die of them. So nothing may be planted in PROCESS before
 * such forks are over: brings every thread that was seized since the last call, and may be in one, to a stop,
 * which is parked. Waits for it for some seconds at most. */
void tg_forking_await(struct tg_process *process);

#endif
