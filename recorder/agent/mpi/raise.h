/* Errors as the library raises them. */
#ifndef TG_RECORDER_AGENT_MPI_RAISE_H
#define TG_RECORDER_AGENT_MPI_RAISE_H

/* FUNCTION of the library raises CODE, in a call of the program that may be none of those that are recorded. An error that is
 * recorded is not again. */
void tg_mpi_raised(int code, const char *function);

#endif
