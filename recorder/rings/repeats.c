#include "recorder/rings/repeats.h"

#include "format/base/array.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct tg_ring_repeat repeat;
    uint64_t retired_at;   /* how many records were taken before no further one could name it */
    uint32_t next_retired; /* +1; 0: none */
};

/* Records are told in the order in which they were taken: an entry is free when as many are told as were taken before it was
 * retired. */
struct tg_ring_repeats {
    struct tg_ring_repeat **entries; /* each the beginning of a struct entry */
    size_t n_entries, max_entries;
    uint64_t n_taken, n_told;              /* records that name one of them */
    uint32_t first_retired, *next_retired; /* +1; 0: none; where the next one's number goes */
    uint64_t names[TG_AGENT_REPEATS];      /* by the place in the ring: what the agent calls it, ... */
    uint32_t current[TG_AGENT_REPEATS];    /* ... and its entry + 1; 0: none */
};

enum {
    PLACE_MASK = TG_AGENT_REPEATS - 1,
    LINE_BYTES = 64,
};
_Static_assert(TG_AGENT_REPEATS == 1 << (TG_AGENT_SERIAL_SHIFT - TG_AGENT_REPEAT_SHIFT),
               "a record can name each of them");

struct tg_ring_repeats *tg_ring_repeats_create(void)
{
    struct tg_ring_repeats *repeats = calloc(1, sizeof *repeats);
    if (repeats != NULL)
        repeats->next_retired = &repeats->first_retired;
    return repeats;
}

void tg_ring_repeats_destroy(struct tg_ring_repeats *repeats)
{
    if (repeats == NULL)
        return;
    for (size_t i = 0; i < repeats->n_entries; i++)
        free(repeats->entries[i]);
    free(repeats->entries);
    free(repeats);
}

static size_t place_of(const uint64_t *record)
{
    return record[1] >> TG_AGENT_REPEAT_SHIFT & PLACE_MASK;
}

static struct entry *entry_at(const struct tg_ring_repeats *repeats, uint32_t number)
{
    return (struct entry *)repeats->entries[number - 1];
}

bool tg_ring_repeats_needs(const struct tg_ring_repeats *repeats, const uint64_t *record, size_t *place)
{
    *place = place_of(record);
    return repeats->current[*place] == 0 || repeats->names[*place] != (record[1] & TG_AGENT_NAME_MASK);
}

/* The one that was retired first, where all records that name it are told; its number + 1, 0: none. */
static uint32_t take_retired(struct tg_ring_repeats *repeats)
{
    uint32_t number = repeats->first_retired;
    if (number == 0 || entry_at(repeats, number)->retired_at > repeats->n_told)
        return 0;
    struct entry *entry = entry_at(repeats, number);
    repeats->first_retired = entry->next_retired;
    if (repeats->first_retired == 0)
        repeats->next_retired = &repeats->first_retired;
    memset(entry, 0, sizeof *entry);
    return number;
}

/* A free one; its number + 1, 0 without memory. */
static uint32_t add_entry(struct tg_ring_repeats *repeats)
{
    uint32_t number = take_retired(repeats);
    if (number != 0)
        return number;
    if (repeats->n_entries == TG_RING_MAX_REPEATS - 1)
        return 0;
    if (TG_ARRAY_RESERVE(repeats->entries, repeats->max_entries, repeats->n_entries + 1) != NULL)
        return 0;
    struct entry *entry = NULL; /* what each record needs of it is at the beginning of a cache line */
    if (posix_memalign((void **)&entry, LINE_BYTES, sizeof *entry) != 0)
        return 0;
    memset(entry, 0, sizeof *entry);
    repeats->entries[repeats->n_entries++] = &entry->repeat;
    return (uint32_t)repeats->n_entries;
}

static void retire(struct tg_ring_repeats *repeats, uint32_t number)
{
    struct entry *entry = entry_at(repeats, number);
    entry->retired_at = repeats->n_taken;
    *repeats->next_retired = number;
    repeats->next_retired = &entry->next_retired;
}

const char *tg_ring_repeats_read(struct tg_ring_repeats *repeats, const uint64_t *record, size_t place,
                                 const struct tg_agent_repeat *given)
{
    uint64_t n_words = given->words[0] >> TG_AGENT_WORDS_SHIFT & 0xfff;
    uint64_t n_own = record[1] >> TG_AGENT_WORDS_SHIFT & 0xfff; /* of the record itself */
    if (given->name != (record[1] & TG_AGENT_NAME_MASK) || !tg_agent_is_repeatable(given->words[0] & 0xff) ||
        n_own != (tg_agent_own_word(given->words[0] & 0xff) == 0 ? 2 : 4) || n_words < 2 ||
        n_words % 2 != 0 || n_words - 1 > TG_AGENT_REPEAT_WORDS)
        return "record that repeats nothing";
    uint32_t number = add_entry(repeats);
    if (number == 0)
        return "no memory for what a record repeats";
    if (repeats->current[place] != 0)
        retire(repeats, repeats->current[place]);
    struct tg_ring_repeat *repeat = repeats->entries[number - 1];
    memcpy(repeat->words + 1, given->words, sizeof given->words);
    repeat->kind = (uint8_t)repeat->words[1];
    enum tg_agent_moves moves = tg_agent_moves(repeat->kind);
    repeat->is_numbered = moves != TG_AGENT_MOVES_NOTHING;
    repeat->team_bit = moves == TG_AGENT_MOVES_EITHER ? UINT32_C(1) << (TG_AGENT_NUMBER_BITS - 1) : 0;
    repeats->names[place] = given->name;
    repeats->current[place] = number;
    return NULL;
}

static const uint64_t number_bits = (uint64_t)(TG_RING_MAX_REPEATS - 1) << TG_AGENT_REPEAT_SHIFT;

void tg_ring_repeats_take(struct tg_ring_repeats *repeats, uint64_t *record)
{
    repeats->n_taken++;
    record[1] = (record[1] & ~number_bits) | (uint64_t)repeats->current[place_of(record)]
                                                 << TG_AGENT_REPEAT_SHIFT;
}

size_t tg_ring_repeats_take_run(struct tg_ring_repeats *repeats, uint64_t *records, size_t n_words,
                                uint64_t first_ticks, uint64_t *last_ticks)
{
    const uint64_t kind_and_words = ((UINT64_C(1) << TG_AGENT_REPEAT_SHIFT) - 1) & TG_AGENT_NAME_MASK;
    const uint64_t again = TG_RECORD_AGAIN | (uint64_t)TG_AGENT_AGAIN_WORDS << TG_AGENT_WORDS_SHIFT;
    uint64_t latest = 0, limit = *last_ticks;
    size_t at = 0;
    for (; at + 1 < n_words; at += TG_AGENT_AGAIN_WORDS) {
        uint64_t ticks = records[at], word = records[at + 1];
        size_t place = word >> TG_AGENT_REPEAT_SHIFT & PLACE_MASK;
        if ((word & kind_and_words) != again || repeats->names[place] != (word & TG_AGENT_NAME_MASK) ||
            repeats->current[place] == 0 || ticks < first_ticks || ticks > limit)
            break;
        latest = ticks > latest ? ticks : latest;
        records[at + 1] = (word & ~number_bits) | (uint64_t)repeats->current[place] << TG_AGENT_REPEAT_SHIFT;
    }
    repeats->n_taken += at / TG_AGENT_AGAIN_WORDS;
    *last_ticks = latest;
    return at;
}

struct tg_ring_repeat *tg_ring_repeats_tell(struct tg_ring_repeats *repeats, const uint64_t *record)
{
    repeats->n_told++;
    return repeats->entries[tg_ring_repeats_number(record[1]) - 1];
}

struct tg_ring_repeat *const *tg_ring_repeats_all(const struct tg_ring_repeats *repeats)
{
    return repeats->entries;
}

void tg_ring_repeats_told(struct tg_ring_repeats *repeats, uint64_t n)
{
    repeats->n_told += n;
}
