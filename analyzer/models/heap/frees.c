#include "analyzer/models/heap/frees.h"

#include <stdlib.h>
#include <string.h>

/* A ring of places, and lists of those whose addresses have the same hash. Numbers of places are one more than the place, 0
 * none. */
struct tg_heap_frees {
    uint64_t count; /* ever added */
    uint32_t heads[TG_HEAP_MAX_FREES];
    uint32_t next[TG_HEAP_MAX_FREES];
    struct tg_heap_freed items[TG_HEAP_MAX_FREES]; /* address 0: dropped */
};

void tg_heap_frees_destroy(struct tg_heap_frees *frees)
{
    free(frees);
}

static uint32_t list_of(uint64_t address)
{
    return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) % TG_HEAP_MAX_FREES;
}

/* The link that holds the number of ADDRESS's place, or 0. */
static uint32_t *link_to(struct tg_heap_frees *frees, uint64_t address)
{
    uint32_t *link = &frees->heads[list_of(address)];
    while (*link != 0 && frees->items[*link - 1].address != address)
        link = &frees->next[*link - 1];
    return link;
}

void tg_heap_frees_drop(struct tg_heap_frees *frees, uint64_t address)
{
    if (frees == NULL || address == 0)
        return;
    uint32_t *link = link_to(frees, address), number = *link;
    if (number == 0)
        return;
    *link = frees->next[number - 1];
    frees->items[number - 1].address = 0;
}

struct tg_error *tg_heap_frees_add(struct tg_heap_frees **frees, const struct tg_heap_freed *freed)
{
    if (*frees == NULL && (*frees = calloc(1, sizeof **frees)) == NULL)
        return tg_error_no_memory();
    struct tg_heap_frees *all = *frees;
    uint32_t place = (uint32_t)(all->count++ % TG_HEAP_MAX_FREES);
    tg_heap_frees_drop(all, all->items[place].address);
    tg_heap_frees_drop(all, freed->address);
    uint32_t *head = &all->heads[list_of(freed->address)];
    all->items[place] = *freed;
    all->next[place] = *head;
    *head = place + 1;
    return NULL;
}

const struct tg_heap_freed *tg_heap_frees_find(const struct tg_heap_frees *frees, uint64_t address)
{
    if (frees == NULL || address == 0)
        return NULL;
    uint32_t number = frees->heads[list_of(address)];
    while (number != 0 && frees->items[number - 1].address != address)
        number = frees->next[number - 1];
    return number == 0 ? NULL : &frees->items[number - 1];
}

struct tg_error *tg_heap_frees_copy(const struct tg_heap_frees *frees, struct tg_heap_frees **copy)
{
    *copy = NULL;
    if (frees == NULL)
        return NULL;
    size_t used = frees->count < TG_HEAP_MAX_FREES ? (size_t)frees->count : TG_HEAP_MAX_FREES;
    struct tg_heap_frees *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->count = frees->count;
    memcpy(made->heads, frees->heads, sizeof made->heads);
    memcpy(made->next, frees->next, used * sizeof made->next[0]);
    memcpy(made->items, frees->items, used * sizeof made->items[0]);
    *copy = made;
    return NULL;
}
