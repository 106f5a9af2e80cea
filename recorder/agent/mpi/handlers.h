/* Error handlers that Open MPI has by itself. Where it was linked with -Bsymbolic-functions, as Ubuntu's, nobody gets in front of the
 * function that raises errors; but the handlers' own functions are called by way of pointers. */
#ifndef TG_RECORDER_AGENT_MPI_HANDLERS_H
#define TG_RECORDER_AGENT_MPI_HANDLERS_H

/* Puts the agent in front of them. The library, which FUNCTION is one of, has been initialised. */
void tg_mpi_handlers_watch(const void *function);

#endif
