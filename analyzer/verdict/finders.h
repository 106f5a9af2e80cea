/* The searches for findings, each for its kinds. */
#ifndef TG_ANALYZER_VERDICT_FINDERS_H
#define TG_ANALYZER_VERDICT_FINDERS_H

#include "analyzer/verdict/draft.h"

/* In this order: what the later ones say depends on what the former found. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_find_errors(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_ends(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_starters(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_mismatches(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_openmp(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_collect_waits(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_rings(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_mpi(struct tg_verdict_draft *draft);

/* Whether calls on COMM of JOB are out of step by a mismatch that FINDING, its number in the order of adding, is
 * about. */
bool tg_verdict_is_out_of_step(const struct tg_verdict_draft *draft, const char *job, uint64_t comm,
                               size_t *finding);

#endif
