/* Names of MPI's functions, whatever a library calls them. */
#ifndef TG_ANALYZER_MODELS_MPI_NAME_H
#define TG_ANALYZER_MODELS_MPI_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Writes "MPI_Barrier" to NAME for MPI_Barrier, PMPI_Barrier, mpi_barrier_, pmpi_barrier__, MPI_Barrier_c and
 * mpi_barrier_f08_; "" and false for functions that are not MPI's. */
bool tg_mpi_name(const char *function, char *name, size_t size);

#endif
