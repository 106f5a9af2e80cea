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
    bool is_known;       /* all else is set */
    uint64_t number;     /* of the last record, ... */
    uint64_t state;      /* ... told when its process was in this state; 0: none was, or each is looked at */
    struct tg_team team; /* where the thread was, ... */
    uint64_t
        counted; /* ... and by how much the event's counted member is larger, that of the repeat being 0 */
    uint32_t counted_field, own_field, team_fields; /* of EVENT's payload, as in struct tg_event_place */
    struct tg_event_place place;                    /* where EVENT went */
    struct tg_event event;                          /* what it became */

    uint64_t words[1 + TG_AGENT_REPEAT_WORDS]; /* a record; its first word, the time, is 0 */
};

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

#endif
