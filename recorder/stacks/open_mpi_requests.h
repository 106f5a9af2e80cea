/* Requests of Open MPI in a process's memory. */
#ifndef TG_RECORDER_STACKS_OPEN_MPI_REQUESTS_H
#define TG_RECORDER_STACKS_OPEN_MPI_REQUESTS_H

#include "recorder/dwarf/modules.h"
#include "recorder/stacks/request_messages.h"

/* Whose requests are asked for. */
struct tg_open_mpi_call {
    struct tg_modules *modules;
    const struct tg_inspect_memory *memory;
    uint64_t world;   /* address of MPI_COMM_WORLD, 0 unknown */
    uint64_t process; /* of the pointer to what the library has of its own process, 0 unknown */
    struct {
        uint64_t start, end;
    } frames; /* of the library's functions on the thread's stack */
};

/* Adds the requests at ADDRESSES, COUNT of them, to REQUESTS. False where one of them is not of the form that is known,
 * and where one is complete that is enough for the call to come back. */
bool tg_open_mpi_requests_read(const struct tg_open_mpi_call *call, const uint64_t *addresses, size_t count,
                               struct tg_mpi_requests *requests);

/* Whether one of WORDS is the address of a request of a receive from PEER with TAG that is not complete. */
bool tg_open_mpi_is_receiving(const struct tg_open_mpi_call *call, const uint64_t *words, size_t count,
                              int32_t peer, int32_t tag);

/* The message with TAG that is sent (SENDS) or received by requests, not complete, at WORDS; false: there is none, or several of different
 * messages. */
bool tg_open_mpi_message_find(const struct tg_open_mpi_call *call, const uint64_t *words, size_t count,
                              bool sends, int32_t tag, struct tg_mpi_message_request *message);

#endif
