/* What is known of the calls of MPI that threads are in. */
#ifndef TG_ANALYZER_WHERE_CALLS_H
#define TG_ANALYZER_WHERE_CALLS_H

#include "analyzer/where/threads.h"

#include <stdbool.h>
#include <stdio.h>

/* Value NAME of the call that THREAD is in; false where it is unknown. */
bool tg_where_find_value(const struct tg_where_thread *thread, const char *name, int64_t *value);

/* The rank in the job of rank RANK of the communicator of THREAD's call; false where it is unknown. */
bool tg_where_find_rank(const struct tg_where_thread *thread, int64_t rank, int64_t *of_job);

/* Whether THREAD's call of MPI is known to be one of MPI_COMM_WORLD. */
bool tg_where_is_in_world(const struct tg_where_thread *thread);
/* Whether it is known to be one of another communicator than MPI_COMM_WORLD. */
bool tg_where_is_in_other(const struct tg_where_thread *thread);

/* Whether THREAD's call of MPI is known to be through soon, once all have made it: less than some thousand elements are moved. */
bool tg_where_is_brief(const struct tg_where_thread *thread);

/* Whether THREAD's call is known to wait for the requests of collective calls of one communicator (MPI_Ibarrier), and for nothing else. */
bool tg_where_waits_for_collective(const struct tg_where_thread *thread);

/* Whether no rank can come back from THREAD's collective call before all have made it: what others have been told some may leave
 * early. */
bool tg_where_needs_all(const struct tg_where_thread *thread);

/* Whether a rank has to make a collective call. */
enum tg_where_membership { TG_WHERE_IS_NO_MEMBER, TG_WHERE_MAY_BE_MEMBER, TG_WHERE_IS_MEMBER };

/* Whether the rank of thread OTHER has to make the collective call that THREAD, of another rank, is in. */
enum tg_where_membership tg_where_membership(const struct tg_where_thread *thread,
                                             const struct tg_where_thread *other);
/* Whether that is known of rank RANK of THREAD's job, and it has to. */
bool tg_where_has_member(const struct tg_where_thread *thread, int64_t rank);
/* How many have to; 0: not known. */
int64_t tg_where_count_members(const struct tg_where_thread *thread);
/* Whether it is known of all ranks. */
bool tg_where_knows_members(const struct tg_where_thread *thread);
/* Whether the calls of A and B are known to be of communicators with the same members, or of one and the same. */
bool tg_where_have_same_members(const struct tg_where_thread *a, const struct tg_where_thread *b);

/* Whether they are known to be of different communicators. */
bool tg_where_is_other_comm(const struct tg_where_thread *a, const struct tg_where_thread *b);

/* Whether they are known to be of one and the same communicator. */
bool tg_where_are_of_one_comm(const struct tg_where_thread *a, const struct tg_where_thread *b);

/* Whether A and B, in the same function of MPI for all ranks of a communicator, are known to be in different calls: of other
 * communicators or other jobs, or of other roots in one communicator. */
bool tg_where_calls_differ(const struct tg_where_thread *a, const struct tg_where_thread *b);

/* Writes " of a communicator of ranks 0-3", where that is another one than MPI_COMM_WORLD, and its members are known and few. Returns
 * whether it did. */
bool tg_where_write_comm(FILE *stream, const struct tg_where_thread *thread);

/* "MPI_Recv(source 2, tag 77, count 1, MPI_COMM_WORLD)"; the name of another function as it is. Returns BUFFER. */
char *tg_where_call_words(const struct tg_where_thread *thread, char *buffer, size_t size);

/* Whether the call of THREAD is known to wait for requests. */
bool tg_where_has_pending(const struct tg_where_thread *thread);

/* What the call of THREAD waits for by requests, as a line of its own behind INDENT: "2 of 4 requests of rank 2 are not complete:
 * receive from rank 3, tag 5; ..."; nothing, and false, where that is not known. */
bool tg_where_write_requests(FILE *stream, const char *indent, const struct tg_where_thread *thread);

#endif
