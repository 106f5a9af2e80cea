#include "recorder/agent/repeat.h"

#include <string.h>

/* Whether no record in the ring names REPEAT. What was there before the ring grew last is there until it has come round. */
static bool is_free(const struct tg_agent_thread *thread, const struct tg_agent_repeat *repeat)
{
    const struct tg_agent_ring_header *header = thread->header;
    uint64_t grown = header->n_growths > 0 ? header->growths[header->n_growths - 1].from : 0;
    uint64_t used = repeat->used > grown ? repeat->used : grown;
    return repeat->name == 0 || thread->written - used > thread->mask + 1;
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

/* Whether RECORD is what REPEAT has, and larger by NUMBER. */
static bool is_same(const uint64_t *record, uint64_t n_words, const struct tg_agent_repeat *repeat,
                    uint64_t *number)
{
    uint64_t counted = tg_agent_counted_word(record[1] & 0xff), own = tg_agent_own_word(record[1] & 0xff);
    *number = counted == 0 ? 0 : record[counted] - repeat->words[counted - 1];
    for (uint64_t i = 1; i < n_words; i++)
        if (i != counted && (own == 0 || i != own) && record[i] != repeat->words[i - 1])
            return false;
    return *number >> TG_AGENT_NUMBER_BITS == 0;
}

/* REPEAT, at PLACE, is of RECORD from now on. Returns the number by which that is larger: those that follow may be smaller. */
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
    if (counted != 0) {
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
    uint64_t first = hash >> TG_AGENT_HASH_SHIFT;
    uint64_t second = hash >> (2 * TG_AGENT_HASH_SHIFT - 64) & (TG_AGENT_REPEATS - 1);
    uint64_t number;
    if (is_same(record, n_words, &repeats[second], &number))
        return tg_agent_name_repeat(record, kind, &repeats[second], number);
    uint64_t place = is_free(thread, &repeats[first]) ? first : second;
    if (!is_free(thread, &repeats[place]) || !came_before(&repeats[first], hash))
        return n_words;
    return tg_agent_name_repeat(record, kind, &repeats[place], fill(&repeats[place], place, record, n_words));
}

TG_AGENT_SHARE(tg_agent_fill_repeat);
