/* Polls: a thread that asks again and again, by MPI_Test, MPI_Iprobe and the like, whether what it waits for has come. A row of
 * polls lasts until one finds something, or the thread calls something else. Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_POLLS_H
#define TG_ANALYZER_MODELS_MPI_POLLS_H

#include "analyzer/models/mpi/state.h"
#include "analyzer/models/wait_times.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

/* THREAD enters a call at CODE, which POLLS or not, and whose details it does not have yet. */
void tg_mpi_poll_enter(struct tg_mpi_thread *thread, bool polls, uint64_t code, uint64_t time_ns);

/* THREAD's poll came back with what LEAVE says. Where it found something, that ended a row of polls: a wait, which WAITS gets, if
 * it was a long one. */
void tg_mpi_poll_leave(struct tg_mpi_thread *thread, const struct tg_event_mpi_leave *leave, uint64_t time_ns,
                       struct tg_wait_times *waits);

/* THREAD, which is in no call, goes on polling, from the place and for what TOLD says, by the call NAME (interned). Its current
 * call is that poll from then on, but for its communicator's name and its requests. */
void tg_mpi_poll_repeat(struct tg_mpi_thread *thread, const struct tg_event_mpi_poll *told, const char *name,
                        uint64_t time_ns);

#endif
