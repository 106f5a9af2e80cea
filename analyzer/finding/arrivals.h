/* Words about the processes that come to a collective. */
#ifndef TG_ANALYZER_FINDING_ARRIVALS_H
#define TG_ANALYZER_FINDING_ARRIVALS_H

#include "analyzer/finding/finding.h"
#include "analyzer/models/mpi/state.h"
#include "format/base/error.h"

#include <stdio.h>

size_t tg_arrivals_standing(const struct tg_mpi_arrival *arrivals, size_t n, enum tg_mpi_standing standing);

/* As reports name it: in MPI_COMM_WORLD, else in the communicator. */
int64_t tg_arrivals_rank(const struct tg_mpi_arrival *arrival);

/* Prints COUNT ranks, which are sorted then: "rank 3", "ranks 0-2 and 7"; "Ranks" where IS_FIRST in a
 * sentence. */
void tg_arrivals_print(FILE *stream, int64_t *ranks, size_t count, bool is_first);

/* Prints the ranks of the arrivals that are wanted, where several jobs have ranks with their jobs: "ranks 0-2 of job 7 and
 * rank 0 of job 8". Only error: NO_MEMORY. */
struct tg_error *tg_arrivals_print_ranks(FILE *stream, const struct tg_verdict_input *input,
                                         const struct tg_mpi_arrival *arrivals, size_t n,
                                         bool (*is_wanted)(const struct tg_mpi_arrival *arrival,
                                                           const void *like),
                                         const void *like, bool is_first);

#endif
