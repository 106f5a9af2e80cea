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
    uint64_t words[1 + TG_AGENT_REPEAT_WORDS]; /* a record; its first word, the time, is 0 */
    /* the decoder's */
    bool is_known;         /* all else is set */
    uint32_t n_unnumbered; /* events in TEAM that were told without a payload_id */
    struct tg_team team;   /* where the thread was, ... */
    uint64_t
        counted; /* ... and by how much the event's counted member is larger, that of the repeat being 0 */
    uint64_t payload_id, payload_counted; /* the event's where COUNTED is the latter; 0: not known */
    struct tg_event event;                /* what it became */
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

/* The repeat of a RECORD that was taken; valid until it is told. */
struct tg_ring_repeat *tg_ring_repeats_find(const struct tg_ring_repeats *repeats, const uint64_t *record);
/* The next of the records that were taken, in that order, is told. */
void tg_ring_repeats_told(struct tg_ring_repeats *repeats);

#endif
