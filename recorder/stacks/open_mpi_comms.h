/* Communicators of Open MPI in a process's memory. */
#ifndef TG_RECORDER_STACKS_OPEN_MPI_COMMS_H
#define TG_RECORDER_STACKS_OPEN_MPI_COMMS_H

#include "recorder/stacks/mpi_members.h"
#include "recorder/stacks/open_mpi_objects.h"

/* The communicator at ADDRESS; false: there is none of the form that is known, or one of its groups is not. MEMBERS is to be deinited in any
 * case. */
bool tg_open_mpi_comm_read(struct tg_open_mpi_objects *objects, uint64_t address,
                           struct tg_mpi_members *members);

/* The same of the window at ADDRESS. */
bool tg_open_mpi_window_read(struct tg_open_mpi_objects *objects, uint64_t address,
                             struct tg_mpi_members *members);

/* The address of the communicator that Fortran's programs know by NUMBER: TABLE is the library's of all, whose first is at WORLD. False
 * where it is not found. */
bool tg_open_mpi_comm_find(const struct tg_open_mpi_objects *objects, uint64_t table, uint64_t world,
                           int32_t number, uint64_t *address);

#endif
