/* Requests of MPICH in a process's memory. */
#ifndef TG_RECORDER_STACKS_MPICH_REQUESTS_H
#define TG_RECORDER_STACKS_MPICH_REQUESTS_H

#include "recorder/dwarf/modules.h"
#include "recorder/stacks/mpich_comms.h"
#include "recorder/stacks/request_messages.h"

/* Whose requests are asked for. */
struct tg_mpich_call {
    struct tg_modules *modules;
    const struct tg_inspect_memory *memory;
    const uint64_t *words; /* what the library's functions have in registers and on the thread's stack */
    size_t n_words;
    const struct tg_mpich_comms *comms; /* NULL: not known */
};

/* Adds the requests that HANDLES, COUNT of them, are the numbers of to REQUESTS. False where one of them was not found, or is not of
 * the form that is known, and where one is complete that is enough for the call to come back. */
bool tg_mpich_requests_read(const struct tg_mpich_call *call, const uint32_t *handles, size_t count,
                            struct tg_mpi_requests *requests);

/* Whether CALL has the address of a request of a receive from PEER with TAG that is not complete. */
bool tg_mpich_is_receiving(const struct tg_mpich_call *call, int32_t peer, int32_t tag);

/* The receive with TAG (TG_MPI_ANY: whichever) that is not complete, of which CALL has the address of the request; false: it has none, or
 * several of different messages. */
bool tg_mpich_receive_find(const struct tg_mpich_call *call, int32_t tag,
                           struct tg_mpi_message_request *message);

#endif
