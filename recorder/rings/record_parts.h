/* Records of an agent's ring whose event has their words, or parts of them, as its members. */
#ifndef TG_RECORDER_RINGS_RECORD_PARTS_H
#define TG_RECORDER_RINGS_RECORD_PARTS_H

#include "format/event/event.h"
#include "recorder/agent/contract.h"
#include "recorder/rings/team_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_RECORD_ARGUMENT = 2 }; /* the word of a record's first argument */

struct tg_record_words {
    uint64_t *words;
    size_t n_words;
    struct tg_team team; /* where its thread was */
};

/* What is known of a kind of record in advance. */
struct tg_record_form {
    enum tg_event_kind kind; /* of the event that it becomes; 0: none, or not by its parts */
    unsigned char least_arguments;
    bool has_place;
    bool is_plain; /* the event depends on the record's words and the thread's team alone */
    size_t payload_bytes;
};

/* The form of each kind of record, by enum tg_agent_record. */
void tg_record_forms(struct tg_record_form forms[TG_RECORD_COUNT]);

/* EVENT, whose payload is zeroed as far as the form says, becomes that of RECORD, which is of KIND and has as many arguments
 * as its form says; its strings and lists are those in RECORD. */
void tg_record_put(const struct tg_record_words *record, unsigned kind, struct tg_event *event);

/* The string that begins at word FROM; made to end within the record, whatever was written there. */
const char *tg_record_string(const struct tg_record_words *record, size_t from);

#endif
