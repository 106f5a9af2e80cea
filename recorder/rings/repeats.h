/* The repeats of one ring (recorder/agent/contract.h): what its AGAIN records stand for. A repeat is copied from the ring
 * when the first record that names it is taken, and kept until the last one was told. */
#ifndef TG_RECORDER_RINGS_REPEATS_H
#define TG_RECORDER_RINGS_REPEATS_H

#include "format/event/event.h"
#include "recorder/agent/contract.h"
#include "recorder/rings/team_table.h"

#include <stdint.h>

struct tg_ring_repeats;

struct tg_ring_repeat {
    uint8_t kind;     /* of the record */
    bool is_numbered; /* AGAIN records have a number */

    /* the decoder's */
    bool is_known; /* all else is set */
    uint8_t
        moving; /* the field that a number alone moves, in the order of EVENT's schema; TG_RING_NO_FIELD: none, or others with it */
    uint32_t team_bit; /* of the number, which moves the team instead where it is set; 0: none does */
    uint64_t number;   /* of the last record, ... */
    uint64_t state;    /* ... told when its process was in this state; 0: none was, or each is looked at */
    uint64_t counted;  /* of EVENT's counted member without a number, if it has one */
    struct tg_event_place place; /* where EVENT went */
    struct tg_team team;         /* where the thread was */
    uint32_t counted_field, own_field, team_field,
        level_field;       /* of EVENT's payload, as in struct tg_event_place */
    struct tg_event event; /* what it became, but for the number */

    uint64_t words[1 + TG_AGENT_REPEAT_WORDS]; /* a record; its first word, the time, is 0 */
};

#define TG_RING_NO_FIELD UINT8_MAX

enum {
    TG_RING_MAX_REPEATS = 1 << (TG_AGENT_NUMBER_SHIFT - TG_AGENT_REPEAT_SHIFT)
}; /* kept at the same time */

/* NULL without memory. */
struct tg_ring_repeats *tg_ring_repeats_create(void);
void tg_ring_repeats_destroy(struct tg_ring_repeats *repeats); /* NULL is accepted */

/* Whether the repeat that RECORD, a record of the kind AGAIN, names has to be read from the ring before tg_ring_repeats_take:
 * the one at *PLACE. */
bool tg_ring_repeats_needs(const struct tg_ring_repeats *repeats, const uint64_t *record, size_t *place);

/* GIVEN is a copy of what the ring has at PLACE. Returns what is wrong with it as that of RECORD, NULL: nothing. */
const char *tg_ring_repeats_read(struct tg_ring_repeats *repeats, const uint64_t *record, size_t place,
                                 const struct tg_agent_repeat *given);

/* RECORD is taken: from now on it names a repeat of REPEATS. */
void tg_ring_repeats_take(struct tg_ring_repeats *repeats, uint64_t *record);

/* The same for as many of RECORDS, N_WORDS in all, as follow each other at the beginning, need no repeat read, and are of ticks
 * from FIRST_TICKS to *LAST_TICKS, which becomes the latest of theirs. Returns how many words they have. */
size_t tg_ring_repeats_take_run(struct tg_ring_repeats *repeats, uint64_t *records, size_t n_words,
                                uint64_t first_ticks, uint64_t *last_ticks);

/* The repeat of RECORD, the next of those that were taken, in that order; valid until others are read. */
struct tg_ring_repeat *tg_ring_repeats_tell(struct tg_ring_repeats *repeats, const uint64_t *record);

/* The same for many: those of N records are told, each of which names the one of tg_ring_repeats_all at tg_ring_repeats_number - 1.
 * Valid until others are read. */
struct tg_ring_repeat *const *tg_ring_repeats_all(const struct tg_ring_repeats *repeats);
void tg_ring_repeats_told(struct tg_ring_repeats *repeats, uint64_t n);

/* Of the second WORD of a record that was taken. */
static inline uint32_t tg_ring_repeats_number(uint64_t word)
{
    return (uint32_t)(word >> TG_AGENT_REPEAT_SHIFT) % TG_RING_MAX_REPEATS;
}

#endif
