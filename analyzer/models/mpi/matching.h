/* Messages under way and the receives that were posted: which of them may find their other half. */
#ifndef TG_ANALYZER_MODELS_MPI_MATCHING_H
#define TG_ANALYZER_MODELS_MPI_MATCHING_H

#include "analyzer/models/mpi/model.h"

/* A message, or a receive, and whether its other half may be there. */
struct tg_mpi_half {
    struct tg_mpi_message message;
    bool may_match;
};

/* All that is under way: messages that were sent, receives and probes; each by job, communicator and receiver,
 * then in order of sending or posting. */
struct tg_mpi_matching {
    struct tg_mpi_half *sends, *receives;
    size_t n_sends, n_receives, send_capacity, receive_capacity;
};

/* Looks for the other half of all that is under way in MODEL, in the order that MPI prescribes. Where it may
 * be another one (any source, any tag), or something is not known, the answer is that it may be there. The
 * caller's to deinit. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_matching_make(const struct tg_mpi_model *model, struct tg_mpi_matching *matching);
void tg_mpi_matching_deinit(struct tg_mpi_matching *matching);

#endif
