/* The searches for findings about the OpenMP threads of processes. Only error of all: NO_MEMORY. */
#ifndef TG_ANALYZER_VERDICT_OPENMP_FINDERS_H
#define TG_ANALYZER_VERDICT_OPENMP_FINDERS_H

#include "analyzer/verdict/openmp/search.h"

/* Locks, and rings of threads, which are marked in SEARCH's waits: so this is first. */
struct tg_error *tg_openmp_find_locks(struct tg_openmp_search *search);
/* Barriers at which threads are missing. */
struct tg_error *tg_openmp_find_barriers(struct tg_openmp_search *search);
/* Values of a single (copyprivate), where the runtime has no barrier for them. */
struct tg_error *tg_openmp_find_values(struct tg_openmp_search *search);
/* Iterations of doacross loops. */
struct tg_error *tg_openmp_find_sinks(struct tg_openmp_search *search);
/* Tasks that are not finished. */
struct tg_error *tg_openmp_find_tasks(struct tg_openmp_search *search);

#endif
