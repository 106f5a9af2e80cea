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

/* Writes each cycle of ranks that wait for each other, and did so in all looks; returns what the best of them is. STREAM
 * may be NULL. A rank has a part in it only where none of its other threads could do what is waited for; a collective call
 * in MPI_COMM_WORLD waits for each rank that is not in it. */
enum tg_where_cycle tg_where_message_cycles(FILE *stream, const struct tg_where_threads *threads);

/* The first thread of the rank whose message the first thread INDEX of a rank waits for, in a blocking call with one partner in
 * MPI_COMM_WORLD; SIZE_MAX where that is not certain. */
size_t tg_where_partner_of(const struct tg_where_threads *threads, size_t index);

/* The ranks' threads, COUNT indices in MEMBERS, to be freed, of cycles that none of them left between the looks. Only
 * error: NO_MEMORY. */
struct tg_error *tg_where_find_deadlocked(const struct tg_where_threads *threads, size_t **members,
                                          size_t *count);

/* Whether THREAD's call of MPI is known to be one of MPI_COMM_WORLD. */
bool tg_where_is_in_world(const struct tg_where_thread *thread);
/* Whether it is known to be one of another communicator. */
bool tg_where_is_in_other(const struct tg_where_thread *thread);

/* Whether THREAD's call of MPI is known to be through soon, once all have made it: less than some thousand elements are moved. */
bool tg_where_is_brief(const struct tg_where_thread *thread);

/* Whether A and B, in the same function of MPI for all ranks of a communicator, are known to be in different calls: of other
 * communicators, or of other roots in MPI_COMM_WORLD. */
bool tg_where_calls_differ(const struct tg_where_thread *a, const struct tg_where_thread *b);

/* "MPI_Recv(source 2, tag 77, count 1, MPI_COMM_WORLD)"; the name of another function as it is. Returns BUFFER. */
char *tg_where_call_words(const struct tg_where_thread *thread, char *buffer, size_t size);

#endif
