/* Requests of MPI that one call waits for, and their messages. */
#ifndef TG_RECORDER_STACKS_REQUEST_MESSAGES_H
#define TG_RECORDER_STACKS_REQUEST_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TG_MPI_MAX_MESSAGES = 16,
    TG_MPI_ANY = -1, /* ranks and tags */
    TG_MPI_UNKNOWN = -2,
};

/* A message that is sent or received by a request. */
struct tg_mpi_message_request {
    bool sends;
    bool is_world; /* in MPI_COMM_WORLD, whose ranks are those of the job */
    bool is_other; /* in another communicator; neither: not known */
    bool is_small; /* at most some thousand elements of a type that the library brings along */
    int32_t peer;  /* rank in the communicator */
    int32_t rank;  /* of the job */
    int32_t tag;
};

struct tg_mpi_requests {
    bool needs_all;   /* the call does not come back before all of them are complete; else one is enough */
    bool is_one;      /* MPI_Wait: there is no array of them */
    size_t count;     /* of all that the call waits for */
    size_t n_pending; /* of them, not complete */
    struct tg_mpi_message_request messages[TG_MPI_MAX_MESSAGES]; /* of those, as far as they are known */
    size_t n_messages;
    size_t n_collective; /* of those that are not complete, of collective calls */
    uint64_t comm;       /* the communicator of these, by its address or handle; 0: not known, or several */
    bool is_of_world;    /* COMM is MPI_COMM_WORLD */
    uint64_t mark;       /* made of what is not complete: another one where later messages are waited for */
};

/* Counts one more in REQUESTS that is of a collective call of COMM, 0 unknown. */
static inline void tg_mpi_requests_add_collective(struct tg_mpi_requests *requests, uint64_t comm)
{
    requests->comm = requests->n_collective == 0 || requests->comm == comm ? comm : 0;
    requests->n_collective++;
}

#endif
