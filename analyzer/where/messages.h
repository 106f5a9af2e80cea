/* Ranks that wait for messages of each other: by the partners of their calls, where these are known. */
#ifndef TG_ANALYZER_WHERE_MESSAGES_H
#define TG_ANALYZER_WHERE_MESSAGES_H

#include "analyzer/where/threads.h"

#include <stdbool.h>
#include <stdio.h>

enum tg_where_cycle {
    TG_WHERE_NO_CYCLE,
    TG_WHERE_CYCLE_SEEN, /* in all looks; they may have come back from their calls between these, or messages are large */
    TG_WHERE_CYCLE_CERTAIN /* all the time from one look to the next */
};

/* Whether the first thread INDEX of a rank was in its call all the time, as far as is known, and is the only one there that can
 * call MPI. */
bool tg_where_counts(const struct tg_where_threads *threads, size_t index);

/* Writes each cycle of ranks that wait for each other, and did so in all looks; returns what the best of them is. STREAM
 * may be NULL. A rank has a part in it only where none of its other threads could do what is waited for; a collective call
 * waits for each member of its communicator that is not in it. */
enum tg_where_cycle tg_where_message_cycles(FILE *stream, const struct tg_where_threads *threads);

/* The ranks' threads, COUNT indices in MEMBERS, to be freed, of cycles that none of them left between the looks. Only
 * error: NO_MEMORY. */
struct tg_error *tg_where_find_deadlocked(const struct tg_where_threads *threads, size_t **members,
                                          size_t *count);

#endif
