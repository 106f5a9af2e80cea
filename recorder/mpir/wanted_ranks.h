/* Which ranks of a job are wanted: "0,2-5,8". */
#ifndef TG_RECORDER_MPIR_WANTED_RANKS_H
#define TG_RECORDER_MPIR_WANTED_RANKS_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_rank_range {
    uint32_t first, last; /* both are meant */
};

/* Zero-initialised it means every rank. */
struct tg_rank_list {
    struct tg_rank_range *ranges;
    size_t count;
};

enum { TG_RANK_LIST_MAX_RANGES = 4096 };

/* Numbers and ranges (FIRST-LAST), separated by commas. INPUT error that names the part that is none. */
struct tg_error *tg_rank_list_parse(const char *text, struct tg_rank_list *list);
void tg_rank_list_deinit(struct tg_rank_list *list);

bool tg_rank_list_has(const struct tg_rank_list *list, uint64_t rank);

#endif
