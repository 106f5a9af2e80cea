/* The ranks of a job that are wanted: "0,2-5,8". */
#ifndef TG_RECORDER_MPIR_WANTED_RANKS_H
#define TG_RECORDER_MPIR_WANTED_RANKS_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_rank_range {
    uint32_t first, last; /* both included */
};

/* Zero-initialised it means every rank. */
struct tg_wanted_ranks {
    struct tg_rank_range *ranges;
    size_t count;
};

enum { TG_WANTED_RANKS_MAX_RANGES = 4096 };

/* Why a rank that is not in the list was detached, or not taken. */
#define TG_MPIR_LET_GO "not one of the requested ranks"

/* Numbers and ranges (FIRST-LAST), separated by commas. A USAGE error names the part that is neither. */
struct tg_error *tg_wanted_ranks_parse(const char *text, struct tg_wanted_ranks *list);
void tg_wanted_ranks_deinit(struct tg_wanted_ranks *list);

bool tg_wanted_ranks_has(const struct tg_wanted_ranks *list, uint64_t rank);

#endif
