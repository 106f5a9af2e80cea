/* Records that are the same again but for their time, and for a number in one of their words or their team: two words take their
 * place, or four (recorder/agent/contract.h). */
#ifndef TG_RECORDER_AGENT_REPEAT_H
#define TG_RECORDER_AGENT_REPEAT_H

#include "recorder/agent/ring.h"

/* A hash has three places for its record: this one, and two that the slow half looks at. */
enum { TG_AGENT_HASH_SHIFT = 57 };
_Static_assert(TG_AGENT_REPEATS == 1 << (64 - TG_AGENT_HASH_SHIFT), "a place for each hash");

static inline struct tg_agent_repeat *tg_agent_repeats(const struct tg_agent_thread *thread)
{
    return (struct tg_agent_repeat *)(void *)thread->data - TG_AGENT_REPEATS;
}

/* RECORD of KIND, at the calling thread's position and not published yet, becomes one that names REPEAT and NUMBER; returns its
 * words. */
static inline __attribute__((always_inline)) uint64_t
tg_agent_name_repeat(uint64_t *record, unsigned kind, struct tg_agent_repeat *repeat, uint64_t number)
{
    uint64_t own = tg_agent_own_word(kind),
             n_words = own == 0 ? TG_AGENT_AGAIN_WORDS : TG_AGENT_AGAIN_OWN_WORDS;
    record[1] = repeat->name | number << TG_AGENT_NUMBER_SHIFT;
    if (own != 0) {
        record[2] = record[own];
        record[3] = 0;
    }
    repeat->used = tg_agent_thread.written + n_words * 8;
    return n_words;
}

/* The slow half of what follows: the first place of HASH has another record than RECORD, which is complete, or none. */
uint64_t tg_agent_fill_repeat(uint64_t *record, uint64_t n_words, uint64_t hash)
    TG_AGENT_SHARED(tg_agent_fill_repeat);

/* What of WORD, the second one of a record of KIND, its hash is made of. */
static inline __attribute__((always_inline)) uint64_t tg_agent_hashed(unsigned kind, uint64_t word)
{
    enum tg_agent_moves moves = tg_agent_moves(kind);
    bool has_team = moves == TG_AGENT_MOVES_NOTHING || moves == TG_AGENT_MOVES_COUNT;
    return has_team ? word : word << (64 - TG_AGENT_TEAM_SHIFT);
}

/* The number with which REPEAT is a record of KIND whose second word is WORD, and whose counted word COUNTED, as far as these
 * two go; TG_AGENT_NO_NUMBER: none. */
#define TG_AGENT_NO_NUMBER UINT64_MAX
static inline __attribute__((always_inline)) uint64_t
tg_agent_number(unsigned kind, uint64_t word, uint64_t counted, const struct tg_agent_repeat *repeat)
{
    enum { BITS = TG_AGENT_NUMBER_BITS };
    const uint64_t one = 1;
    enum tg_agent_moves moves = tg_agent_moves(kind);
    uint64_t at = tg_agent_counted_word(kind), larger = at == 0 ? 0 : counted - repeat->words[at - 1];
    uint64_t differs = word - repeat->words[0];
    uint64_t teams = (uint64_t)((int64_t)differs >> TG_AGENT_TEAM_SHIFT),
             rest = differs ^ teams << TG_AGENT_TEAM_SHIFT;
    if (moves == TG_AGENT_MOVES_NOTHING)
        return differs == 0 ? 0 : TG_AGENT_NO_NUMBER;
    if (moves == TG_AGENT_MOVES_COUNT)
        return (differs | larger >> BITS) == 0 ? larger : TG_AGENT_NO_NUMBER;
    if (moves == TG_AGENT_MOVES_TEAM) {
        rest |= at == 0 ? 0 : larger ^ teams;
        return (rest | (teams + (one << (BITS - 1))) >> BITS) == 0 ? teams & ((one << BITS) - 1)
                                                                   : TG_AGENT_NO_NUMBER;
    }
    if (differs == 0)
        return larger >> (BITS - 1) == 0 ? larger : TG_AGENT_NO_NUMBER;
    return (rest | larger | (teams + (one << (BITS - 2))) >> (BITS - 1)) == 0
               ? one << (BITS - 1) | (teams & ((one << (BITS - 1)) - 1))
               : TG_AGENT_NO_NUMBER;
}

/* A record of KIND, of the words WORD, A and B, the latter of which are not there yet. Returns how many words it has then. */
static inline __attribute__((always_inline)) uint64_t tg_agent_shrink2(uint64_t *record, unsigned kind,
                                                                       uint64_t word, uint64_t a, uint64_t b)
{
    bool is_counted = tg_agent_counted_word(kind) != 0; /* and B is that word */
    uint64_t mixed = tg_agent_hashed(kind, word) ^ a ^ (is_counted ? 0 : b << 32 | b >> 32),
             hash = mixed * UINT64_C(0x9e3779b97f4a7c15);
    struct tg_agent_repeat *repeat = &tg_agent_repeats(&tg_agent_thread)[hash >> TG_AGENT_HASH_SHIFT];
    uint64_t number = tg_agent_number(kind, word, b, repeat);
    if (TG_AGENT_LIKELY(number != TG_AGENT_NO_NUMBER && repeat->words[1] == a &&
                        (is_counted || repeat->words[2] == b)))
        return tg_agent_name_repeat(record, kind, repeat, number);
    record[2] = a;
    record[3] = b;
    return tg_agent_fill_repeat(record, 4, hash);
}

/* Straight code for the loop that follows, where the compiler knows how many words there are. */
#ifdef __clang__ /* which sees to that */
#define TG_AGENT_UNROLL
#else
#define TG_AGENT_UNROLL _Pragma("GCC unroll 16")
#endif

/* A record of KIND with N_WORDS, all of which are there. */
static inline __attribute__((always_inline)) uint64_t tg_agent_shrink(uint64_t *record, unsigned kind,
                                                                      uint64_t n_words)
{
    uint64_t counted = tg_agent_counted_word(kind), own = tg_agent_own_word(kind);
    uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), hash = 0, differs = 0;
    if (n_words - 1 > TG_AGENT_REPEAT_WORDS)
        return n_words;
    TG_AGENT_UNROLL
    for (uint64_t i = 1; i < n_words; i++) { /* the products do not wait for each other */
        uint64_t word = i == 1 ? tg_agent_hashed(kind, record[1]) : record[i];
        factor += UINT64_C(0x3c6ef372fe94f82a);
        if (i != counted && (own == 0 || i != own))
            hash += (word ^ word >> 32) * factor;
    }
    struct tg_agent_repeat *repeat = &tg_agent_repeats(&tg_agent_thread)[hash >> TG_AGENT_HASH_SHIFT];
    TG_AGENT_UNROLL
    for (uint64_t i = 2; i < n_words; i++)
        differs |= i == counted || (own != 0 && i == own) ? 0 : repeat->words[i - 1] ^ record[i];
    uint64_t number = tg_agent_number(kind, record[1], record[counted], repeat);
    return TG_AGENT_LIKELY(differs == 0 && number != TG_AGENT_NO_NUMBER)
               ? tg_agent_name_repeat(record, kind, repeat, number)
               : tg_agent_fill_repeat(record, n_words, hash);
}

#endif
