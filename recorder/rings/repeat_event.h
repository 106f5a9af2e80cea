/* The event that a repeat became: the fields that later records of it change. */
#ifndef TG_RECORDER_RINGS_REPEAT_EVENT_H
#define TG_RECORDER_RINGS_REPEAT_EVENT_H

#include "recorder/agent/contract.h"
#include "recorder/rings/repeats.h"
#include "recorder/rings/team_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Each record of KIND has more to say than its number: where the thread is from now on, or a word of its own. */
static inline bool tg_repeat_event_is_apart(unsigned kind)
{
    return kind == TG_RECORD_OMP_IMPLICIT_BEGIN || kind == TG_RECORD_OMP_IMPLICIT_END ||
           tg_agent_own_word(kind) != 0;
}

/* Sets which fields of REPEAT's event, that of its number, are those of what records change; HAS_PLACE: it says which team it is
 * of. */
void tg_repeat_event_find_fields(struct tg_ring_repeat *repeat, bool has_place);

/* The event gets the number of the last record. */
void tg_repeat_event_put_number(struct tg_ring_repeat *repeat);

/* The event becomes that of a record with NUMBER, and with OWN as the word of its own, if it has one; what differs is noted in
 * its place. */
void tg_repeat_event_put_words(struct tg_ring_repeat *repeat, uint64_t number, uint64_t own);

/* The thread of the event is in TEAM; likewise. */
void tg_repeat_event_put_team(struct tg_ring_repeat *repeat, struct tg_team team);

#endif
