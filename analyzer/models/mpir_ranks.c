#include "analyzer/models/mpir_ranks.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

/* A table has rank I at the place I; only what is elsewhere needs to be looked up. */
struct tg_mpir_ranks_slot {
    int64_t key;
    size_t at;
    UT_hash_handle hh;
};

void tg_mpir_ranks_deinit(struct tg_mpir_ranks *ranks)
{
    struct tg_mpir_ranks_slot *slot, *next;
    HASH_ITER (hh, ranks->slots, slot, next) {
        HASH_DEL(ranks->slots, slot);
        free(slot);
    }
    free(ranks->ranks);
    *ranks = (struct tg_mpir_ranks){0};
}

static struct tg_error *add_slot(struct tg_mpir_ranks *ranks, int64_t key, size_t at)
{
    struct tg_mpir_ranks_slot *slot;
    struct tg_error *error = TG_HASH_CREATE(hh, ranks->slots, key, &key, slot);
    if (error == NULL)
        slot->at = at;
    return error;
}

struct tg_error *tg_mpir_ranks_copy(const struct tg_mpir_ranks *ranks, struct tg_mpir_ranks *copy)
{
    struct tg_error *error =
        TG_ARRAY_COPY(copy->ranks, copy->count, copy->capacity, ranks->ranks, ranks->count);
    for (const struct tg_mpir_ranks_slot *slot = ranks->slots; error == NULL && slot != NULL;
         slot = slot->hh.next)
        error = add_slot(copy, slot->key, slot->at);
    return error;
}

struct tg_mpir_rank *tg_mpir_ranks_find(const struct tg_mpir_ranks *ranks, int64_t key)
{
    if (key >= 0 && (uint64_t)key < ranks->count && ranks->ranks[key].key == key)
        return &ranks->ranks[key];
    struct tg_mpir_ranks_slot *slot = NULL;
    HASH_FIND(hh, ranks->slots, &key, sizeof key, slot);
    return slot == NULL ? NULL : &ranks->ranks[slot->at];
}

struct tg_error *tg_mpir_ranks_get(struct tg_mpir_ranks *ranks, int64_t key, struct tg_mpir_rank **found)
{
    *found = tg_mpir_ranks_find(ranks, key);
    if (*found != NULL)
        return NULL;
    struct tg_error *error = TG_ARRAY_RESERVE(ranks->ranks, ranks->capacity, ranks->count + 1);
    if (error != NULL)
        return error;
    if (key < 0 || (uint64_t)key != ranks->count) {
        error = add_slot(ranks, key, ranks->count);
        if (error != NULL)
            return error;
    }
    *found = &ranks->ranks[ranks->count++];
    **found = (struct tg_mpir_rank){.key = key,
                                    .rank = key,
                                    .host = "",
                                    .executable = "",
                                    .problem = "",
                                    .reason = "",
                                    .process = SIZE_MAX};
    return NULL;
}

struct tg_mpir_tally tg_mpir_ranks_tally(const struct tg_mpir_rank *ranks, size_t count)
{
    struct tg_mpir_tally tally = {0};
    for (size_t i = 0; i < count; i++) {
        if (ranks[i].is_told && ranks[i].state < TG_MPIR_RANK_STATES)
            tally.states[ranks[i].state]++;
        else if (ranks[i].in_table)
            tally.untold++;
        else
            tally.gone++;
    }
    return tally;
}
