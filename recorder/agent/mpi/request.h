/* Requests in flight: what is remembered from where they are started to where they complete, since a status
 * says something of a receive alone.
 *
 * Handles are used again by the library as soon as a request is complete, in other threads too: what is known
 * of the requests that a call waits for is looked up before the library is called. */
#ifndef TG_RECORDER_AGENT_MPI_REQUEST_H
#define TG_RECORDER_AGENT_MPI_REQUEST_H

#include "recorder/agent/mpi/comm.h"
#include "recorder/agent/mpi/frame.h"

enum tg_mpi_request_kind {
    TG_MPI_REQUEST_UNKNOWN, /* status is believed */
    TG_MPI_REQUEST_SEND,
    TG_MPI_REQUEST_RECEIVE,
    TG_MPI_REQUEST_COLLECTIVE, /* or one-sided: nothing to tell at its end */
    TG_MPI_REQUEST_FILE,       /* status tells how much */
    TG_MPI_REQUEST_BIRTH,      /* makes a communicator */
    TG_MPI_REQUEST_MESSAGE,    /* not a request, but a matched message that waits to be received */
    TG_MPI_REQUEST_KIND = 15,  /* bits of the above */
    TG_MPI_REQUEST_PERSISTENT = 16,
    TG_MPI_REQUEST_ACTIVE = 32, /* and started */
};

/* The call of FRAME that was to start a request returned RESULT: remembers *REQUEST and records MPI_LEAVE. */
int tg_mpi_request_started(const struct tg_mpi_frame *frame, unsigned kind, const void *request, int result);

/* As above for one that makes the communicator *COMM, an id for which BIRTH gives. */
int tg_mpi_request_of_birth_started(const struct tg_mpi_frame *frame, const struct tg_mpi_birth *birth,
                                    const void *comm, const void *request, int result);

/* A persistent request was started. */
void tg_mpi_request_restarted(tg_mpi_handle request);

/* A message was matched on the communicator with id COMM; which one it was. */
void tg_mpi_message_matched(tg_mpi_handle message, uint64_t comm);
uint64_t tg_mpi_message_comm(tg_mpi_handle message);

/* Looks up request HANDLE, before the library is called. */
struct tg_mpi_pending tg_mpi_pending(tg_mpi_handle handle);

/* The request is complete: records MPI_COMPLETE from STATUS, which may be NULL where nothing is known, at MOMENT, that of another
 * request that is complete by the same call. Returns the moment. */
tg_agent_moment tg_mpi_pending_complete(tg_agent_moment moment, const struct tg_mpi_pending *pending,
                                        const void *status);

/* Element I of an array of handles of requests, or messages; 0 where ARRAY is NULL. */
tg_mpi_handle tg_mpi_handle_in(const void *array, size_t i);

/* Room where the library can put COUNT statuses that the program may have no interest in. */
static inline bool tg_mpi_is_ignored(const void *status)
{
    return (uintptr_t)status == tg_mpi.abi->status_ignore;
}

/* Reads a receive's or probe's STATUS for MPI_LEAVE; nothing where the call failed. */
struct tg_mpi_leave tg_mpi_leave_of_status(const void *status, int result);

#endif
