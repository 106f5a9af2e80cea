/* Epochs of windows that processes have begun and not ended, also where they are gone: locks of other ranks' memory, access by
 * MPI_Win_start, memory opened by MPI_Win_post. Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_EPOCHS_H
#define TG_ANALYZER_MODELS_MPI_EPOCHS_H

#include "analyzer/models/mpi/state.h"
#include "format/base/error.h"

enum { TG_MPI_MAX_EPOCHS = 1 << 16 }; /* kept; what comes then is not known */

/* All zero is an empty one. */
struct tg_mpi_epochs {
    struct tg_mpi_epoch *items; /* in the order of their beginnings */
    size_t count, capacity;
};

void tg_mpi_epochs_deinit(struct tg_mpi_epochs *epochs);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_epochs_copy(const struct tg_mpi_epochs *from, struct tg_mpi_epochs *to);

/* PROCESS of JOB, RANK of the window, is in CALL, which begins an epoch for COUNT ranks of the window (struct
 * tg_mpi_rank_item). Only error: NO_MEMORY. */
struct tg_error *tg_mpi_epochs_group(struct tg_mpi_epochs *epochs, const char *job, size_t process,
                                     int64_t rank, const struct tg_mpi_call *call, const void *ranks,
                                     size_t count);
/* PROCESS of JOB came back from CALL, one on a window or any other. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_epochs_leave(struct tg_mpi_epochs *epochs, const char *job, size_t process,
                                     const struct tg_mpi_call *call, uint64_t time_ns);

#endif
