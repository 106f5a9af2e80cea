/* Lists of ranks for people: "0-3,5,7-9". */
#ifndef TG_ANALYZER_OUTPUT_RANK_RANGES_H
#define TG_ANALYZER_OUTPUT_RANK_RANGES_H

#include <stddef.h>
#include <stdint.h>

/* Sorts RANKS, and drops those that are there twice. Returns how many are left. */
size_t tg_rank_ranges_sort(int64_t *ranks, size_t count);

/* Writes sorted RANKS to BUFFER of SIZE, at least 8; cut with "..." where there is no room. Returns
 * BUFFER. */
char *tg_rank_ranges_print(const int64_t *ranks, size_t count, char *buffer, size_t size);

#endif
