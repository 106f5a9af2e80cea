/* The key of tables by request: requests have the same values in different processes. */
#ifndef TG_ANALYZER_MODELS_MPI_REQUEST_KEY_H
#define TG_ANALYZER_MODELS_MPI_REQUEST_KEY_H

#include <stddef.h>
#include <stdint.h>

struct tg_mpi_request_key {
    size_t process; /* index in the process model */
    uint64_t request;
};
_Static_assert(sizeof(struct tg_mpi_request_key) == sizeof(size_t) + sizeof(uint64_t),
               "tables compare keys byte by byte: there is no padding");

static inline struct tg_mpi_request_key tg_mpi_request_key(size_t process, uint64_t request)
{
    return (struct tg_mpi_request_key){.process = process, .request = request};
}

#endif
