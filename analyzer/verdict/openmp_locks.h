/* Findings about locks, and about rings of threads. For analyzer/verdict/openmp.c. */
#ifndef TG_ANALYZER_VERDICT_OPENMP_LOCKS_H
#define TG_ANALYZER_VERDICT_OPENMP_LOCKS_H

#include "analyzer/verdict/draft.h"
#include "analyzer/verdict/openmp_waits.h"

/* Adds them to DRAFT, and marks in WAITS who waits in a ring. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_find_locks(struct tg_verdict_draft *draft, struct tg_openmp_waits *waits);

#endif
