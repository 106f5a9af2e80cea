/* Events of a look, for its sink. */
#ifndef TG_RECORDER_LOOK_TELLING_H
#define TG_RECORDER_LOOK_TELLING_H

#include "format/settings/command.h"
#include "recorder/stacks/mpi_communicators.h"
#include "recorder/stacks/mpi_requests.h"
#include "recorder/stacks/mpi_values.h"
#include "recorder/stacks/waits.h"

/* EVENT of thread TID of process PID, now. */
void tg_look_tell(const struct tg_look_sink *sink, pid_t pid, pid_t tid, struct tg_event event);

/* Nothing where there are no values. */
void tg_look_tell_values(const struct tg_look_sink *sink, pid_t pid, pid_t tid,
                         const struct tg_mpi_values *values);

/* Nothing where the thread waits for none. */
void tg_look_tell_requests(const struct tg_look_sink *sink, pid_t pid, pid_t tid,
                           const struct tg_mpi_requests *requests);

/* Nothing where they are not known. */
void tg_look_tell_members(const struct tg_look_sink *sink, pid_t pid, pid_t tid,
                          const struct tg_mpi_members *members);

/* MPI_COMM_WORLD of process PID; nothing where it is not known. */
void tg_look_tell_world(const struct tg_look_sink *sink, pid_t pid, const struct tg_mpi_members *world);

/* COUNT waits, with their partners among N_PIDS processes. */
void tg_look_tell_waits(const struct tg_look_sink *sink, const struct tg_wait *waits, size_t count,
                        const pid_t *pids, size_t n_pids);

#endif
