/* The searches for findings, each for its kinds. */
#ifndef TG_ANALYZER_VERDICT_FINDERS_H
#define TG_ANALYZER_VERDICT_FINDERS_H

#include "analyzer/verdict/draft.h"

/* In this order: what the later ones say depends on what the former found. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_find_ends(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_starters(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_openmp(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_collect_waits(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_rings(struct tg_verdict_draft *draft);
struct tg_error *tg_verdict_find_mpi(struct tg_verdict_draft *draft);

#endif
