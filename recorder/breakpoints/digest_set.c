#include "recorder/breakpoints/digest_set.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 256 };

/* The slot of DIGEST, or the one where it would be, in N_SLOTS SLOTS of which some are empty. */
static size_t find_slot(const struct tg_digest *slots, size_t n_slots, struct tg_digest digest)
{
    size_t at = digest.low & (n_slots - 1);
    while ((slots[at].low != 0 || slots[at].high != 0) &&
           (slots[at].low != digest.low || slots[at].high != digest.high))
        at = (at + 1) & (n_slots - 1);
    return at;
}

static bool grow(struct tg_digest_set *set)
{
    size_t n_slots = set->n_slots == 0 ? FIRST_SLOTS : set->n_slots * 2;
    struct tg_digest *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slots[i].low != 0 || set->slots[i].high != 0)
            slots[find_slot(slots, n_slots, set->slots[i])] = set->slots[i];
    free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    return true;
}

bool tg_digest_set_has(const struct tg_digest_set *set, struct tg_digest digest)
{
    if (set->count == 0)
        return false;
    const struct tg_digest *found = &set->slots[find_slot(set->slots, set->n_slots, digest)];
    return found->low == digest.low && found->high == digest.high;
}

void tg_digest_set_add(struct tg_digest_set *set, struct tg_digest digest)
{
    if (set->count >= TG_DIGEST_SET_MAX || (2 * (set->count + 1) > set->n_slots && !grow(set)))
        return;
    set->slots[find_slot(set->slots, set->n_slots, digest)] = digest;
    set->count++;
}

void tg_digest_set_deinit(struct tg_digest_set *set)
{
    free(set->slots);
    *set = (struct tg_digest_set){0};
}
