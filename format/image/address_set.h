/* A small set of addresses in an array of the caller's: results of a lookup, each once, in the order
 * found. */
#ifndef TG_FORMAT_IMAGE_ADDRESS_SET_H
#define TG_FORMAT_IMAGE_ADDRESS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_address_set {
    uint64_t *items;
    size_t max; /* of ITEMS; what comes beyond is dropped */
    size_t count;
    bool resolver; /* one of them is an IFUNC resolver */
};

static inline void tg_address_set_add(struct tg_address_set *set, uint64_t address)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i] == address)
            return;
    if (set->count < set->max)
        set->items[set->count++] = address;
}

#endif
