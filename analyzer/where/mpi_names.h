/* Names of MPI's functions, whatever a library calls them. */
#ifndef TG_ANALYZER_WHERE_MPI_NAMES_H
#define TG_ANALYZER_WHERE_MPI_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Writes "MPI_Barrier" to NAME for MPI_Barrier, PMPI_Barrier, mpi_barrier_, pmpi_barrier__, MPI_Barrier_c and
 * mpi_barrier_f08_; "" and false for functions that are not MPI's. */
bool tg_mpi_name(const char *function, char *name, size_t size);

/* By NAME as tg_mpi_name() has it: whether all processes of a communicator have to make the call. */
bool tg_mpi_name_is_collective(const char *name);
/* Whether a thread in it waits for others: who comes back from it goes on. */
bool tg_mpi_name_waits(const char *name);
/* Whether it only asks for something, and comes back in any case: MPI_Test, and MPI_Wtime, which loops ask as well. */
bool tg_mpi_name_asks(const char *name);

#endif
