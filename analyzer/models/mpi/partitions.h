/* Partitioned messages: the requests of MPI_Psend_init and MPI_Precv_init, how often each was started, and which partitions
 * of a send have been marked as ready since. Internal to the MPI model. */
#ifndef TG_ANALYZER_MODELS_MPI_PARTITIONS_H
#define TG_ANALYZER_MODELS_MPI_PARTITIONS_H

#include "analyzer/models/mpi/state.h"
#include "format/base/error.h"

struct tg_mpi_partitioned_entry;
struct tg_mpi_partitioned_flow;

/* All zero is an empty one. */
struct tg_mpi_partitions {
    struct tg_mpi_partitioned_entry *entries;
    struct tg_mpi_partitioned_flow *flows;
    struct tg_mpi_remarked *remarked; /* the first TG_MPI_MAX_REMARKED places */
    size_t n_remarked, remarked_capacity;
};

void tg_mpi_partitions_deinit(struct tg_mpi_partitions *partitions);
/* Adds those of FROM to TO, which is empty. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_partitions_copy(const struct tg_mpi_partitions *from, struct tg_mpi_partitions *to);

/* MADE, not started yet, is a new one: the next of its flow, which it is given the number of. What was known of its process
 * and request is forgotten. Only error: NO_MEMORY. */
struct tg_error *tg_mpi_partitions_add(struct tg_mpi_partitions *partitions,
                                       const struct tg_mpi_partitioned *made);
/* The one of PROCESS's REQUEST, under way or not; NULL: none. */
struct tg_mpi_partitioned *tg_mpi_partitions_find(const struct tg_mpi_partitions *partitions, size_t process,
                                                  uint64_t request);
/* OF begins once more; one that is under way stays as it is. */
void tg_mpi_partitions_start(struct tg_mpi_partitioned *of, int32_t tid, uint64_t code, uint64_t time_ns);
/* PROCESS's REQUEST, if it is a partitioned message, is complete: false, it is none. */
bool tg_mpi_partitions_complete(const struct tg_mpi_partitions *partitions, size_t process, uint64_t request);
/* THREAD's call says that partitions FIRST to LAST of its request are ready. One that was so before is noted in REMARKED. Only
 * error: NO_MEMORY. */
struct tg_error *tg_mpi_partitions_mark(struct tg_mpi_partitions *partitions,
                                        const struct tg_mpi_thread *thread, uint64_t first, uint64_t last);
/* THREAD's call, if it named no partitions, marked some of its request that were too many to be told. */
void tg_mpi_partitions_mark_unknown(const struct tg_mpi_partitions *partitions,
                                    const struct tg_mpi_thread *thread);
void tg_mpi_partitions_forget(struct tg_mpi_partitions *partitions, size_t process, uint64_t request);

/* The other half of OF; NULL: it was not made, or given up. *WAS_MADE tells which. */
const struct tg_mpi_partitioned *tg_mpi_partitions_other(const struct tg_mpi_partitions *partitions,
                                                         const struct tg_mpi_partitioned *of, bool *was_made);
/* Visits those that are under way, in no order. */
struct tg_error *tg_mpi_partitions_visit(const struct tg_mpi_partitions *partitions,
                                         struct tg_error *(*visit)(void *context,
                                                                   const struct tg_mpi_partitioned *of),
                                         void *context);

#endif
