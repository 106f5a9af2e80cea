/* Members of a team that came to one of its barriers from different lines: all are to come to the same ones, in the
 * same order. */
#ifndef TG_ANALYZER_VERDICT_OPENMP_ORDER_H
#define TG_ANALYZER_VERDICT_OPENMP_ORDER_H

#include "analyzer/finding/draft.h"

/* Where the barrier is that WORKER, by its index, has left out first: the one that others came to when it came to
 * another one of the same number, which is *OWN. 0: not known. */
uint64_t tg_openmp_order_skipped(const struct tg_verdict_input *input, const struct tg_openmp_team *team,
                                 size_t worker, uint64_t *own);

/* Adds to the text of the finding that is being made, about a crash of WORKER, who of its team was at another barrier
 * than the others before, and blames that one too; nothing where all were at the same ones. */
void tg_openmp_order_tell(struct tg_verdict_draft *draft, const struct tg_openmp_worker *worker);

#endif
