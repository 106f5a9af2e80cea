/* Nonblocking collective calls of processes: each leaves its collective when its request is complete. Internal to
 * the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_STARTED_H
#define TG_ANALYZER_MODELS_MPI_STARTED_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The process with the index PROCESS began the collective INSTANCE of its communicator COMM. */
struct tg_mpi_started {
    size_t process;
    uint64_t request;
    uint64_t comm, instance;
};

struct tg_mpi_started_entry;

/* All zero is an empty one. */
struct tg_mpi_started_calls {
    struct tg_mpi_started_entry *entries;
};

void tg_mpi_started_calls_deinit(struct tg_mpi_started_calls *calls);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_started_calls_copy(const struct tg_mpi_started_calls *from,
                                           struct tg_mpi_started_calls *to);

/* There is none of the same process and request yet. Beyond TG_MPI_MAX_COLLECTIVES the oldest is forgotten. Only
 * error: NO_MEMORY. */
struct tg_error *tg_mpi_started_calls_add(struct tg_mpi_started_calls *calls,
                                          const struct tg_mpi_started *started);
/* The one of PROCESS's REQUEST, taken out; false: none. */
bool tg_mpi_started_calls_take(struct tg_mpi_started_calls *calls, size_t process, uint64_t request,
                               struct tg_mpi_started *started);

#endif
