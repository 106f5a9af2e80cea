/* A process that MPI joins with no others. */
#ifndef TG_ANALYZER_MODELS_SINGLETON_H
#define TG_ANALYZER_MODELS_SINGLETON_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_SINGLETON_JOB_BYTES = 32 };

/* Whether WORLD is a process's own, whose environment says that it is RANK (-1: no rank) of SIZE (0 unknown): it was started
 * without a launcher, or by one of another MPI library. One that was started alone by its own launcher is none. */
bool tg_singleton_is(const struct tg_event_mpi_comm *world, int64_t rank, int64_t size);

/* Prints what the job is called that process PID is. */
void tg_singleton_name(int32_t pid, char job[TG_SINGLETON_JOB_BYTES]);

#endif
