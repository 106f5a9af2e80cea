/* Threads that wait by asking again and again whether something has come: MPI_Test, MPI_Iprobe and the like in a loop. */
#ifndef TG_ANALYZER_FINDING_POLLING_H
#define TG_ANALYZER_FINDING_POLLING_H

#include "analyzer/finding/finding.h"

/* Whether THREAD, which is in no recorded call, polls at the moment that is judged: its latest mpi_poll says that it does
 * little else, or its last stack is in that call, in the line of it, or asleep in the function of it. */
bool tg_polling_is(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread);

/* Whether it is known to poll, to do nothing of weight in between but sleep, and to ask for nothing but what its last call
 * says: then it waits for that. */
bool tg_polling_is_wait(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread);

/* Whether THREAD is in a call that waits for others, or waits by polls. */
bool tg_polling_waits(const struct tg_verdict_input *input, const struct tg_mpi_thread *thread);

/* The moment that is judged, of a PROCESS that is kept from running the one at which it was stopped. */
uint64_t tg_polling_moment(const struct tg_verdict_input *input, size_t process);

#endif
