/* Envelopes of messages: communicator, source, destination and tag, as a call says them. Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_ENVELOPE_H
#define TG_ANALYZER_MODELS_MPI_ENVELOPE_H

#include "analyzer/models/mpi/comms.h"
#include "analyzer/models/mpi/state.h"

#include <stdbool.h>
#include <stdint.h>

/* Rank of PROCESS in its communicator COMM, -1 unknown. */
int64_t tg_mpi_own_rank(const struct tg_mpi_comms *comms, const struct tg_mpi_process *process,
                        uint64_t comm);

/* Messages to and from spawned processes, or others of whose group nothing is known: the two sides know their
 * communicator by different ids, so no half finds its other one. */
bool tg_mpi_is_between_jobs(const struct tg_mpi_comms *comms, const struct tg_mpi_process *process,
                            uint64_t comm);

/* What the current or last call of THREAD, of PROCESS, sends, or receives. */
struct tg_mpi_message tg_mpi_message_of(const struct tg_mpi_comms *comms,
                                        const struct tg_mpi_process *process,
                                        const struct tg_mpi_thread *thread, bool is_send);
/* The same where ROLE is known to be the call's (of a send it does not matter). */
struct tg_mpi_message tg_mpi_message_by_role(const struct tg_mpi_comms *comms,
                                             const struct tg_mpi_process *process,
                                             const struct tg_mpi_thread *thread, bool is_send,
                                             enum tg_mpi_role role);

#endif
