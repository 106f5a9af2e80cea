#include "recorder/agent/repeat.h"

#include <string.h>

/* Whether no record in the ring names REPEAT. What was there before the ring grew last is there until it has come round. */
static bool is_free(const struct tg_agent_thread *thread, const struct tg_agent_repeat *repeat)
{
    const struct tg_agent_ring_header *header = thread->header;
    uint32_t n = __atomic_load_n(&header->n_growths, __ATOMIC_RELAXED);
    if (n > TG_AGENT_RING_GROWTHS) /* overwritten */
        return false;
    uint64_t grown = n > 0 ? header->growths[n - 1].from : 0;
    uint64_t used = repeat->used > grown ? repeat->used : grown;
    /* `used` is further than `written` where a handler jumped away from the record that named REPEAT */
    return repeat->name == 0 || thread->written > used + thread->mask + 1;
}

/* Whether the record of HASH came not long before: most of those that come once never come again. REPEAT is the first place
 * of HASH; one that waits there is given up when two others have come in between. */
static bool came_before(struct tg_agent_repeat *repeat, uint64_t hash)
{
    const uint64_t young = 1;
    if ((repeat->seen | young) == (hash | young))
        return true;
    repeat->seen = (repeat->seen & young) != 0 ? repeat->seen & ~young : hash | young;
    return false;
}

/* The number with which REPEAT is RECORD; TG_AGENT_NO_NUMBER: it is not. */
static uint64_t number_of(const uint64_t *record, uint64_t n_words, const struct tg_agent_repeat *repeat)
{
    unsigned kind = record[1] & 0xff;
    uint64_t counted = tg_agent_counted_word(kind), own = tg_agent_own_word(kind);
    for (uint64_t i = 2; i < n_words; i++)
        if (i != counted && (own == 0 || i != own) && record[i] != repeat->words[i - 1])
            return TG_AGENT_NO_NUMBER;
    return tg_agent_number(kind, record[1], record[counted], repeat);
}

enum { PLACES = 3 }; /* of a record */

/* The places of HASH that only the slow half looks at are PLACES[1] and the rest. Of the first few barriers of a region each has
 * its own: one of them comes again with the region. */
static void find_places(const uint64_t *record, uint64_t hash, uint64_t places[PLACES])
{
    enum { FEW = 16 };
    unsigned kind = record[1] & 0xff;
    uint64_t number = record[tg_agent_counted_word(kind)];
    places[0] = hash >> TG_AGENT_HASH_SHIFT;
    if (tg_agent_moves(kind) == TG_AGENT_MOVES_EITHER && number < FEW)
        hash += number * UINT64_C(0x9e3779b97f4a7c15);
    places[1] = hash >> (2 * TG_AGENT_HASH_SHIFT - 64) & (TG_AGENT_REPEATS - 1);
    places[2] = hash >> (3 * TG_AGENT_HASH_SHIFT - 128) & (TG_AGENT_REPEATS - 1);
}

/* REPEAT, at PLACE, is of RECORD from now on. Returns the record's number: those that follow may have smaller ones. */
static uint64_t fill(struct tg_agent_repeat *repeat, uint64_t place, const uint64_t *record, uint64_t n_words)
{
    enum { SERIALS = 1 << (TG_AGENT_NUMBER_SHIFT - TG_AGENT_SERIAL_SHIFT) };
    uint64_t serial = ((repeat->name >> TG_AGENT_SERIAL_SHIFT) + 1) % SERIALS;
    uint64_t counted = tg_agent_counted_word(record[1] & 0xff), number = 0;
    uint64_t words =
        tg_agent_own_word(record[1] & 0xff) == 0 ? TG_AGENT_AGAIN_WORDS : TG_AGENT_AGAIN_OWN_WORDS;
    /* first: a handler may jump away from here, and what is half filled must not pass for the old one */
    repeat->name = TG_RECORD_AGAIN | words << TG_AGENT_WORDS_SHIFT | place << TG_AGENT_REPEAT_SHIFT |
                   serial << TG_AGENT_SERIAL_SHIFT;
    tg_agent_signal_fence();
    memset(repeat->words, 0, sizeof repeat->words);
    memcpy(repeat->words, record + 1, (n_words - 1) * sizeof *record);
    if (tg_agent_moves(record[1] & 0xff) == TG_AGENT_MOVES_COUNT) {
        number = UINT64_C(1) << (TG_AGENT_NUMBER_BITS - 1);
        repeat->words[counted - 1] -= number;
    }
    return number;
}

uint64_t tg_agent_fill_repeat(uint64_t *record, uint64_t n_words, uint64_t hash)
{
    const struct tg_agent_thread *thread = &tg_agent_thread;
    struct tg_agent_repeat *repeats = tg_agent_repeats(thread);
    unsigned kind = record[1] & 0xff;
    uint64_t places[PLACES];
    find_places(record, hash, places);
    for (int i = 1; i < PLACES; i++) {
        uint64_t number = number_of(record, n_words, &repeats[places[i]]);
        if (number != TG_AGENT_NO_NUMBER)
            return tg_agent_name_repeat(record, kind, &repeats[places[i]], number);
    }
    int i = 0;
    while (i < PLACES && !is_free(thread, &repeats[places[i]]))
        i++;
    if (i == PLACES || !came_before(&repeats[places[0]], hash))
        return n_words;
    struct tg_agent_repeat *repeat = &repeats[places[i]];
    return tg_agent_name_repeat(record, kind, repeat, fill(repeat, places[i], record, n_words));
}

TG_AGENT_SHARE(tg_agent_fill_repeat);
