/* What is known of the calls of MPI that threads are in. */
#ifndef TG_ANALYZER_WHERE_CALLS_H
#define TG_ANALYZER_WHERE_CALLS_H

#include "analyzer/where/threads.h"

#include <stdbool.h>
#include <stdio.h>

/* Value NAME of the call that THREAD is in; false where it is unknown. */
bool tg_where_find_value(const struct tg_where_thread *thread, const char *name, int64_t *value);

/* Whether THREAD's call of MPI is known to be one of MPI_COMM_WORLD. */
bool tg_where_is_in_world(const struct tg_where_thread *thread);
/* Whether it is known to be one of MPI_COMM_SELF. */
bool tg_where_is_in_self(const struct tg_where_thread *thread);
/* Whether it is known to be one of another communicator than MPI_COMM_WORLD. */
bool tg_where_is_in_other(const struct tg_where_thread *thread);

/* Whether THREAD's call of MPI is known to be through soon, once all have made it: less than some thousand elements are moved. */
bool tg_where_is_brief(const struct tg_where_thread *thread);

/* Whether A and B, in the same function of MPI for all ranks of a communicator, are known to be in different calls: of other
 * communicators, or of other roots in MPI_COMM_WORLD. */
bool tg_where_calls_differ(const struct tg_where_thread *a, const struct tg_where_thread *b);

/* "MPI_Recv(source 2, tag 77, count 1, MPI_COMM_WORLD)"; the name of another function as it is. Returns BUFFER. */
char *tg_where_call_words(const struct tg_where_thread *thread, char *buffer, size_t size);

/* Whether the call of THREAD is known to wait for requests. */
bool tg_where_has_pending(const struct tg_where_thread *thread);

/* What the call of THREAD waits for by requests, as a line of its own behind INDENT: "2 of 4 requests of rank 2 are not complete:
 * receive from rank 3, tag 5; ..."; nothing, and false, where that is not known. */
bool tg_where_write_requests(FILE *stream, const char *indent, const struct tg_where_thread *thread);

#endif
