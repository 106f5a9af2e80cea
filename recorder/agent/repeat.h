/* Records that are the same again but for their time: two words take their place (recorder/agent/contract.h). */
#ifndef TG_RECORDER_AGENT_REPEAT_H
#define TG_RECORDER_AGENT_REPEAT_H

#include "recorder/agent/ring.h"

/* A hash has two places for its record: this one, and another one that the slow half looks at. */
enum { TG_AGENT_HASH_SHIFT = 57 };
_Static_assert(TG_AGENT_REPEATS == 1 << (64 - TG_AGENT_HASH_SHIFT), "a repeat for each");

static inline struct tg_agent_repeat *tg_agent_repeats(const struct tg_agent_thread *thread)
{
    return (struct tg_agent_repeat *)(void *)thread->data - TG_AGENT_REPEATS;
}

/* Makes RECORD one that names REPEAT; returns its words. */
static inline uint64_t tg_agent_name_repeat(struct tg_agent_thread *thread, uint64_t *record, uint64_t place)
{
    struct tg_agent_repeat *repeat = &tg_agent_repeats(thread)[place];
    enum { WORDS = 2 };
    record[1] = TG_RECORD_AGAIN | (uint64_t)WORDS << TG_AGENT_WORDS_SHIFT | place << TG_AGENT_REPEAT_SHIFT |
                repeat->serial << TG_AGENT_SERIAL_SHIFT;
    repeat->used = thread->written + WORDS * 8;
    return WORDS;
}

static inline __attribute__((always_inline)) bool tg_agent_is_repeat(const struct tg_agent_repeat *repeat,
                                                                     const uint64_t *record, uint64_t n_words)
{
    uint64_t differs = 0;
    for (uint64_t i = 1; i < n_words; i++)
        differs |= repeat->words[i - 1] ^ record[i];
    return differs == 0;
}

/* The slow half of tg_agent_shrink: the first place of HASH has another record, or none. */
uint64_t tg_agent_fill_repeat(uint64_t *record, uint64_t n_words, uint64_t hash)
    TG_AGENT_SHARED(tg_agent_fill_repeat);

/* The record of N_WORDS at the calling thread's position, which is complete and not published yet, becomes an AGAIN record
 * where its words came before. Returns how many words it has then. In a ring, not in a handler's room. */
static inline __attribute__((always_inline)) uint64_t tg_agent_shrink(uint64_t *record, uint64_t n_words)
{
    struct tg_agent_thread *thread = &tg_agent_thread;
    uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), hash = 0;
    for (uint64_t i = 1; i < n_words; i++) { /* the products do not wait for each other */
        factor += UINT64_C(0x3c6ef372fe94f82a);
        hash += (record[i] ^ record[i] >> 32) * factor;
    }
    uint64_t place = hash >> TG_AGENT_HASH_SHIFT;
    if (TG_AGENT_UNLIKELY(!tg_agent_is_repeat(&tg_agent_repeats(thread)[place], record, n_words)))
        return tg_agent_fill_repeat(record, n_words, hash);
    return tg_agent_name_repeat(thread, record, place);
}

#endif
