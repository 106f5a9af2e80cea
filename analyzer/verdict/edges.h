/* The edges of a verdict: who waits for whom, as a graph has them. */
#ifndef TG_ANALYZER_VERDICT_EDGES_H
#define TG_ANALYZER_VERDICT_EDGES_H

#include "analyzer/verdict/openmp/search.h"

/* Edges of MPI calls; after the search for rings. Only error: NO_MEMORY. */
struct tg_error *tg_verdict_draw_mpi(struct tg_verdict_draft *draft);
/* Edges of OpenMP; after the search for locks. */
struct tg_error *tg_verdict_draw_openmp(const struct tg_openmp_search *search);

#endif
