/* Communicators of MPI in a process's memory: MPI_COMM_WORLD, and those of calls that threads are in. */
#ifndef TG_RECORDER_STACKS_MPI_COMMUNICATORS_H
#define TG_RECORDER_STACKS_MPI_COMMUNICATORS_H

#include "recorder/stacks/mpi_members.h"
#include "recorder/stacks/mpi_values.h"
#include "recorder/stacks/request_messages.h"

/* Adds to VARIABLES, of PROCESS, what memory alone says of where its communicators are. The process may be running. */
void tg_mpi_communicators_find(const struct tg_stack_process *process, const struct tg_inspect_memory *memory,
                               struct tg_mpi_variables *variables);

/* MPI_COMM_WORLD of PROCESS, which may be running. False where MPI is not initialized, or that is not known. Both need MEMBERS deinited in
 * any case. */
bool tg_mpi_world_read(const struct tg_stack_process *process, const struct tg_mpi_variables *variables,
                       const struct tg_inspect_memory *memory, struct tg_mpi_members *members);

/* The communicator of the call whose VALUES are known; false where it is not. The thread is stopped. */
bool tg_mpi_communicator_read(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                              const struct tg_mpi_values *values, struct tg_mpi_members *members);

/* The communicator of the collective calls that REQUESTS, all of which are of such, wait for; false where it is not known. The thread is
 * stopped. MEMBERS is left alone where it is already known. */
bool tg_mpi_collective_read(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                            const struct tg_mpi_requests *requests, struct tg_mpi_members *members);

#endif
