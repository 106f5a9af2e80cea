/* Requests that a thread waits for in MPI_Wait, MPI_Waitall and the like, as the library that made them has them. */
#ifndef TG_RECORDER_STACKS_MPI_REQUESTS_H
#define TG_RECORDER_STACKS_MPI_REQUESTS_H

#include "recorder/stacks/mpi_values.h"
#include "recorder/stacks/request_messages.h"

/* The requests of the call that STACK is in, whose thread is stopped and whose UNWOUND frames are there. False where they are not
 * known for certain: it is no such call, or what is in memory is not of the form that is known. */
bool tg_mpi_requests_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                          const struct tg_call_stack *stack, struct tg_mpi_requests *requests);

/* Adds to VALUES, of the call that STACK is in, that its receive is not complete ("receives", without a text), where it sends as well: so it
 * waits for that one, whether or not what it sends is on its way. Only where that is certain. */
void tg_mpi_exchange_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                          const struct tg_call_stack *stack, struct tg_mpi_values *values);

#endif
