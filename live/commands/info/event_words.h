/* An event in a few words: "arrives at the barrier (number 3 of its team) in solve (solver.c:120)". */
#ifndef TG_LIVE_COMMANDS_INFO_EVENT_WORDS_H
#define TG_LIVE_COMMANDS_INFO_EVENT_WORDS_H

#include "analyzer/verdict/verdict.h"
#include "format/base/error.h"

#include <stdio.h>

/* Writes whose EVENT is ("rank 1, worker 2 (thread 1236): ") and what it is; ENTRY is its process, NULL none.
 * Printable, without a line end. Only error: NO_MEMORY. */
struct tg_error *tg_event_words(FILE *stream, const struct tg_verdict_input *input,
                                const struct tg_event *event, const struct tg_process_entry *entry);

#endif
