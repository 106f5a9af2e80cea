/* Calls of MPI that ranks were in when they were attached, and when their stacks were taken later: as if they had been recorded,
 * for a diagram. Nothing is known of what was before, and of what was between. */
#ifndef TG_ANALYZER_SEQUENCE_ATTACHED_H
#define TG_ANALYZER_SEQUENCE_ATTACHED_H

#include "analyzer/models/process.h"
#include "format/base/error.h"
#include "format/event/event.h"

struct tg_sequence_attached;

struct tg_error *tg_sequence_attached_create(struct tg_sequence_attached **attached);
void tg_sequence_attached_destroy(struct tg_sequence_attached *attached); /* NULL is accepted */

enum { TG_SEQUENCE_CONCLUDED = 2 };

/* Takes EVENT of the process ENTRY. What follows from it is in CONCLUDED, until the next call: *COUNT events, to be taken
 * before it. Only error:
 * NO_MEMORY. */
struct tg_error *tg_sequence_attached_feed(struct tg_sequence_attached *attached,
                                           const struct tg_event *event, const struct tg_process_entry *entry,
                                           struct tg_event concluded[TG_SEQUENCE_CONCLUDED], size_t *count);

/* When the first of the processes of which something was concluded was attached; 0: none was. */
uint64_t tg_sequence_attached_since(const struct tg_sequence_attached *attached);

#endif
