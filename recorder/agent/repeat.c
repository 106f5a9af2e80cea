#include "recorder/agent/repeat.h"

#include <string.h>

enum { NO_PLACE = TG_AGENT_REPEATS };

/* Whether no record in the ring names REPEAT. */
static bool is_free(const struct tg_agent_thread *thread, const struct tg_agent_repeat *repeat)
{
    return repeat->serial == 0 || thread->written - repeat->used > thread->mask + 1;
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

uint64_t tg_agent_fill_repeat(uint64_t *record, uint64_t n_words, uint64_t hash)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    struct tg_agent_repeat *repeats = tg_agent_repeats(thread);
    uint64_t first = hash >> TG_AGENT_HASH_SHIFT,
             second = hash >> (2 * TG_AGENT_HASH_SHIFT - 64) & (TG_AGENT_REPEATS - 1);
    if (n_words - 1 > TG_AGENT_REPEAT_WORDS)
        return n_words;
    if (tg_agent_is_repeat(&repeats[second], record, n_words))
        return tg_agent_name_repeat(thread, record, second);
    uint64_t place = is_free(thread, &repeats[first])    ? first
                     : is_free(thread, &repeats[second]) ? second
                                                         : NO_PLACE;
    if (place == NO_PLACE || !came_before(&repeats[first], hash))
        return n_words;
    struct tg_agent_repeat *repeat = &repeats[place];
    repeat
        ->serial++; /* first: a handler may jump away from here, and what is half filled must not pass for the old one */
    tg_agent_signal_fence();
    memset(repeat->words, 0, sizeof repeat->words);
    memcpy(repeat->words, record + 1, (n_words - 1) * sizeof *record);
    return tg_agent_name_repeat(thread, record, place);
}

TG_AGENT_SHARE(tg_agent_fill_repeat);
