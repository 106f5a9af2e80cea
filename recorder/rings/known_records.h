/* Records that came before, and the events that they became: a program does the same few things again and again. */
#ifndef TG_RECORDER_RINGS_KNOWN_RECORDS_H
#define TG_RECORDER_RINGS_KNOWN_RECORDS_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "recorder/rings/team_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_known_records;
struct tg_known_record;

struct tg_error *tg_known_records_create(struct tg_known_records **known);
void tg_known_records_destroy(struct tg_known_records *known); /* NULL is accepted */

/* The event that the N_WORDS at RECORD became when their thread was in TEAM, whatever its time, process and thread were:
 * the caller sets these. NULL: it is not known; then ROOM is where it may be kept, or NULL. Records without strings and
 * lists, whose event depends on nothing else. Valid until the next call. */
struct tg_event *tg_known_records_find(struct tg_known_records *known, const uint64_t *record, size_t n_words,
                                       struct tg_team team, struct tg_known_record **room);

/* Keeps EVENT, of PAYLOAD_BYTES, and gives it a number of its payload. */
void tg_known_records_keep(struct tg_known_records *known, struct tg_known_record *room,
                           const uint64_t *record, size_t n_words, struct tg_team team,
                           struct tg_event *event, size_t payload_bytes);

#endif
