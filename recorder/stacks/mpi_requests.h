/* Requests that a thread waits for in MPI_Wait, MPI_Waitall and the like, as the library that made them has them. */
#ifndef TG_RECORDER_STACKS_MPI_REQUESTS_H
#define TG_RECORDER_STACKS_MPI_REQUESTS_H

#include "recorder/stacks/mpi_values.h"
#include "recorder/stacks/request_messages.h"

/* The requests of the call that STACK is in, whose thread is stopped and whose UNWOUND frames are there. False where they are not
 * known for certain: it is no such call, or what is in memory is not of the form that is known. */
bool tg_mpi_requests_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                          const struct tg_call_stack *stack, struct tg_mpi_requests *requests);

/* Adds to VALUES, of the call that STACK is in, what the library's own requests say, where that is certain: the partner of a call of one
 * message, if the program's code says the tag alone; of one that sends and receives, that its receive is not complete ("receives", without
 * a text): so it waits for that one, whether or not what it sends is on its way. */
void tg_mpi_partners_find(const struct tg_mpi_asking *asking, const struct tg_inspect_memory *memory,
                          const struct tg_call_stack *stack, struct tg_mpi_values *values);

#endif
