/* Kinds of MPI's functions, by their names. */
#ifndef TG_ANALYZER_WHERE_MPI_NAMES_H
#define TG_ANALYZER_WHERE_MPI_NAMES_H

#include <stdbool.h>

/* By NAME as tg_mpi_name() (analyzer/models/mpi_name.h) has it: whether all processes of a communicator have to make the call. */
bool tg_mpi_name_is_collective(const char *name);
/* Whether a process may come back from such a call before all have made it, as only the others need what it gives. */
bool tg_mpi_name_ends_early(const char *name);
/* Whether none can, whatever it is called with; whether none can if data are moved. */
bool tg_mpi_name_needs_all(const char *name);
bool tg_mpi_name_exchanges_with_all(const char *name);
/* Whether it moves no data of the program. */
bool tg_mpi_name_moves_nothing(const char *name);
/* Whether a thread in it waits for others: who comes back from it goes on. */
bool tg_mpi_name_waits(const char *name);
/* Whether it only asks for something, and comes back in any case: MPI_Test, and MPI_Wtime, which loops ask as well. */
bool tg_mpi_name_asks(const char *name);
/* Whether a process in it waits for one message: to receive it, to send it, to do both. */
bool tg_mpi_name_receives(const char *name);
bool tg_mpi_name_sends(const char *name);
bool tg_mpi_name_exchanges(const char *name);
/* Whether it waits for requests: MPI_Waitall. */
bool tg_mpi_name_completes(const char *name);

#endif
