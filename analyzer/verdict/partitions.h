/* Partitioned messages that threads wait for: who has not made, started or filled the other half. */
#ifndef TG_ANALYZER_VERDICT_PARTITIONS_H
#define TG_ANALYZER_VERDICT_PARTITIONS_H

#include "analyzer/finding/draft.h"

/* Adds the waits that have lasted long. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_collect_partitions(struct tg_verdict_draft *draft);
/* Findings about those that are in no deadlock. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_find_partitions(struct tg_verdict_draft *draft);
/* Prints which partitions the one that THREAD waits for has not marked as ready, " Partition 3 of 8 has not been marked ...";
 * nothing where it lacks none. */
void tg_verdict_print_partitions(struct tg_verdict_draft *draft, const struct tg_mpi_thread *thread);

#endif
