/* The time between MPI_Init and MPI_Finalize, when the library may be asked about handles. */
#ifndef TG_RECORDER_AGENT_MPI_WORLD_H
#define TG_RECORDER_AGENT_MPI_WORLD_H

#include "recorder/agent/mpi/abi.h"
#include "recorder/agent/mpi/types.h"

/* True between MPI_Init and MPI_Finalize, and while there is a session. Where MPI was initialised by a call that the agent did
 * not see, finds that out, and introduces MPI_COMM_WORLD as MPI_Init would have. */
bool tg_mpi_world_is_running(void);

/* MPI_Init has succeeded; MPI_Finalize begins. */
void tg_mpi_world_start(void);
void tg_mpi_world_stop(void);

/* Whether MPI_Init, whose level of thread support is below MPI_THREAD_MULTIPLE, is all there is. */
void tg_mpi_world_takes_turns(bool takes_turns);

/* SESSION has come to be; it is about to go. The first of a program without MPI_Init makes handles known that
 * may be asked about. */
void tg_mpi_world_session(tg_mpi_handle session);
void tg_mpi_world_session_ends(tg_mpi_handle session);

/* COUNT elements of TYPE; 0 where that cannot be known. */
tg_mpi_amount_t tg_mpi_amount(int64_t count, tg_mpi_handle type);
/* AMOUNT as it is reduced by OP. */
tg_mpi_amount_t tg_mpi_reduced(tg_mpi_amount_t amount, tg_mpi_handle op);

#endif
