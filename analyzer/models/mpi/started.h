/* Requests of processes that are no messages: of nonblocking and persistent collectives, each of which leaves its
 * collective when it is complete, of one-sided access, and the like. Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_STARTED_H
#define TG_ANALYZER_MODELS_MPI_STARTED_H

#include "analyzer/models/mpi/state.h"
#include "format/base/error.h"

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
/* The one of PROCESS's REQUEST; NULL: none. */
struct tg_mpi_started *tg_mpi_started_calls_find(const struct tg_mpi_started_calls *calls, size_t process,
                                                 uint64_t request);
/* Visits those that are under way, in no order. */
struct tg_error *tg_mpi_started_calls_visit(const struct tg_mpi_started_calls *calls,
                                            struct tg_error *(*visit)(void *context,
                                                                      const struct tg_mpi_started *started),
                                            void *context);
/* The one of PROCESS's REQUEST that is under way is so no longer: taken out, unless it is persistent; false: none. */
bool tg_mpi_started_calls_take(struct tg_mpi_started_calls *calls, size_t process, uint64_t request,
                               struct tg_mpi_started *started);
/* REQUEST of PROCESS, under way or not, is a name no longer; nothing where there is none. */
void tg_mpi_started_calls_forget(struct tg_mpi_started_calls *calls, size_t process, uint64_t request);

#endif
