/* Names of OpenMP's constructs in sentences, tables and drawings. Strings are static. Numbers beyond
 * the known ones, which a trace of a newer writer may hold, have names that say no more than the kind. */
#ifndef TG_ANALYZER_OUTPUT_OPENMP_WORDS_H
#define TG_ANALYZER_OUTPUT_OPENMP_WORDS_H

#include "analyzer/models/openmp/model.h"

#include <stddef.h>
#include <stdint.h>

struct tg_openmp_words {
    const char *phrase; /* in a sentence: "a loop", "end of the parallel region", "named critical section" */
    const char *label;  /* in a drawing: "loop", "end of the region", "critical" */
};

/* By enum tg_omp_zone, tg_omp_sync and tg_omp_mutex. SEEN is how the zone was (enum tg_omp_seen): an inferred
 * masked construct may as well be `if (omp_get_thread_num() == 0)`. */
const struct tg_openmp_words *tg_openmp_words_zone(uint64_t zone, uint64_t seen);
const struct tg_openmp_words *tg_openmp_words_sync(uint64_t sync);
const struct tg_openmp_words *tg_openmp_words_mutex(uint64_t mutex);

/* "critical section update", "lock queue_lock": MUTEX by VARIABLE, as a symbol table has the one that LOCK is the
 * address of; "lock 0x55d0" where that is NULL, without the address where it is 0. */
char *tg_openmp_words_lock(uint64_t mutex, uint64_t lock, const char *variable, char *buffer, size_t size);

/* " (inferred)" behind a zone that was SEEN (enum tg_omp_seen) so, "" otherwise. */
const char *tg_openmp_words_inferred(uint64_t seen);

/* A place, as a table's row is named: "loop", "wait for critical section", ...: SIZE at least 64. */
void tg_openmp_words_place(enum tg_openmp_place_kind kind, uint64_t what, char *buffer, size_t size);

#endif
