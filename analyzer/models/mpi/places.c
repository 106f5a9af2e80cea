#include "analyzer/models/mpi/places.h"

#include "format/base/array.h"
#include "format/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PLACES = 1 << 18, /* of all processes */
    RECENT_BITS = 10,
    RECENT = 1 << RECENT_BITS, /* places that are found without the table */
};

struct key {
    size_t process;
    const char *name;
    uint64_t code;
};

struct entry {
    struct key key;
    struct tg_mpi_place public;
    UT_hash_handle hh;
};

struct tg_mpi_places {
    struct entry **items;
    size_t count, capacity;
    struct entry *table;
    struct entry *recent[RECENT]; /* NULL: none */
    struct tg_mpi_place beyond;
};

struct tg_error *tg_mpi_places_create(struct tg_mpi_places **places)
{
    *places = calloc(1, sizeof **places);
    return *places == NULL ? tg_error_no_memory() : NULL;
}

void tg_mpi_places_destroy(struct tg_mpi_places *places)
{
    if (places == NULL)
        return;
    HASH_CLEAR(hh, places->table);
    for (size_t i = 0; i < places->count; i++)
        free(places->items[i]);
    free(places->items);
    free(places);
}

/* The place KEY in *FOUND; NULL: one too many. Only error: NO_MEMORY. */
static struct tg_error *find(struct tg_mpi_places *places, const struct key *key, struct entry **found)
{
    HASH_FIND(hh, places->table, key, sizeof *key, *found);
    if (*found != NULL || places->count >= MAX_PLACES)
        return NULL;
    struct tg_error *error = TG_ARRAY_RESERVE(places->items, places->capacity, places->count + 1);
    if (error == NULL)
        error = TG_HASH_CREATE(hh, places->table, key, key, *found);
    if (error != NULL)
        return error;
    (*found)->public = (struct tg_mpi_place){.process = key->process, .name = key->name, .code = key->code};
    places->items[places->count++] = *found;
    return NULL;
}

/* CALLS of them, that took TOTAL_NS together and LONGEST_NS at most. */
static void count_calls(struct tg_mpi_place *place, uint64_t calls, uint64_t total_ns, uint64_t longest_ns)
{
    place->calls += calls;
    place->total_ns += total_ns;
    if (longest_ns > place->longest_ns)
        place->longest_ns = longest_ns;
}

/* Spreads addresses and numbers of processes, which differ little, over the recent places. */
static size_t recent_place(size_t process, uint64_t code)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return (code + ((uint64_t)process << 24)) * golden >> (64 - RECENT_BITS);
}

/* The place in *FOUND: BEYOND, where there are too many. Only error: NO_MEMORY. */
static struct tg_error *place_of(struct tg_mpi_places *places, size_t process, const char *name,
                                 uint64_t code, struct tg_mpi_place **place)
{
    struct entry **recent = &places->recent[recent_place(process, code)], *found = *recent;
    if (found == NULL || found->key.process != process || found->key.code != code ||
        found->key.name != name) {
        struct key key;
        memset(&key, 0, sizeof key);
        key.process = process;
        key.name = name;
        key.code = code;
        struct tg_error *error = find(places, &key, &found);
        if (error != NULL)
            return error;
        *recent = found;
    }
    *place = found != NULL ? &found->public : &places->beyond;
    return NULL;
}

struct tg_error *tg_mpi_places_add(struct tg_mpi_places *places, size_t process, const char *name,
                                   uint64_t code, uint64_t lasted_ns, uint64_t bytes)
{
    struct tg_mpi_place *place;
    struct tg_error *error = place_of(places, process, name, code, &place);
    if (error != NULL)
        return error;
    count_calls(place, 1, lasted_ns, lasted_ns);
    place->bytes += bytes;
    return NULL;
}

struct tg_error *tg_mpi_places_add_polls(struct tg_mpi_places *places, size_t process, const char *name,
                                         const struct tg_event_mpi_poll_sum *sum)
{
    struct tg_mpi_place *place;
    struct tg_error *error = place_of(places, process, name, sum->code, &place);
    if (error == NULL)
        count_calls(place, sum->polls, sum->inside_ns, sum->longest_ns);
    return error;
}

size_t tg_mpi_places_count(const struct tg_mpi_places *places)
{
    return places->count;
}

const struct tg_mpi_place *tg_mpi_places_at(const struct tg_mpi_places *places, size_t i)
{
    return &places->items[i]->public;
}

struct tg_mpi_place tg_mpi_places_beyond(const struct tg_mpi_places *places)
{
    return places->beyond;
}
