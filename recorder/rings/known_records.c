#include "recorder/rings/known_records.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACES_SHIFT = 10,
    MAX_WORDS = 14, /* of a record, its time among them */
    KINDS = 256,
    TRIAL = 256,   /* records of a kind that were not known: time to see whether looking pays ... */
    PAUSE = 16384, /* ... and if not, it is left for so many */
};

struct tg_known_record {
    uint64_t hash; /* of what was looked for here last; what came once is not kept */
    struct tg_team team;
    size_t n_words; /* 0: nothing is kept */
    uint64_t words[MAX_WORDS];
    struct tg_event event;
};

struct kind {
    uint32_t found, missed, pause;
};

struct tg_known_records {
    uint64_t n_kept; /* ever */
    struct kind kinds[KINDS];
    struct tg_known_record places[1 << PLACES_SHIFT];
};

struct tg_error *tg_known_records_create(struct tg_known_records **known)
{
    *known = calloc(1, sizeof **known);
    return *known == NULL ? tg_error_no_memory() : NULL;
}

void tg_known_records_destroy(struct tg_known_records *known)
{
    free(known);
}

static uint64_t hash_of(const uint64_t *record, size_t n_words, struct tg_team team)
{
    uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), hash = (team.id + team.level) * factor;
    for (size_t i = 1; i < n_words; i++) {
        factor += UINT64_C(0x3c6ef372fe94f82a);
        hash += (record[i] ^ record[i] >> 32) * factor;
    }
    return hash;
}

static bool is_same(const struct tg_known_record *place, const uint64_t *record, size_t n_words,
                    struct tg_team team)
{
    return place->n_words == n_words && place->team.id == team.id && place->team.level == team.level &&
           memcmp(place->words + 1, record + 1, (n_words - 1) * sizeof *record) == 0;
}

static void miss(struct kind *kind)
{
    if (++kind->missed < TRIAL)
        return;
    if (kind->found < kind->missed)
        kind->pause = PAUSE;
    kind->found = kind->missed = 0;
}

struct tg_event *tg_known_records_find(struct tg_known_records *known, const uint64_t *record, size_t n_words,
                                       struct tg_team team, struct tg_known_record **room)
{
    struct kind *kind = &known->kinds[record[1] & (KINDS - 1)];
    *room = NULL;
    if (n_words > MAX_WORDS)
        return NULL;
    if (kind->pause > 0) {
        kind->pause--;
        return NULL;
    }
    uint64_t hash = hash_of(record, n_words, team);
    struct tg_known_record *place = &known->places[hash >> (64 - PLACES_SHIFT)];
    if (is_same(place, record, n_words, team)) {
        kind->found++;
        return &place->event;
    }
    miss(kind);
    if (place->hash == hash)
        *room = place;
    place->hash = hash;
    return NULL;
}

void tg_known_records_keep(struct tg_known_records *known, struct tg_known_record *room,
                           const uint64_t *record, size_t n_words, struct tg_team team,
                           struct tg_event *event, size_t payload_bytes)
{
    event->payload_id = ++known->n_kept;
    room->team = team;
    room->n_words = n_words;
    memcpy(room->words, record, n_words * sizeof *record);
    memcpy(&room->event, event, offsetof(struct tg_event, process_start) + payload_bytes);
}
