/* Waits between threads of a process, and at pipes: by what the stopped threads waited for in the kernel. */
#ifndef TG_ANALYZER_WHERE_WAITS_H
#define TG_ANALYZER_WHERE_WAITS_H

#include "analyzer/where/threads.h"

#include <stdio.h>

/* Whether thread INDEX waits for itself, by way of the owners of mutexes and the ends of threads: that never ends. */
bool tg_where_waits_for_itself(const struct tg_where_threads *threads, size_t index);

/* Whether there is such a thread among those of ranks, where there are ranks. */
bool tg_where_waits_are_deadlock(const struct tg_where_threads *threads);

/* Whether thread INDEX waits, by that way, for a thread that waits for itself: it is one, or behind one. */
bool tg_where_waits_for_deadlock(const struct tg_where_threads *threads, size_t index);

/* Such threads, at most eight rings of them: a line for each ring, and indented ones for its threads. Returns whether there was
 * one. */
bool tg_where_deadlocks_write(FILE *stream, const struct tg_where_threads *threads);

/* A line for each lock that threads of the program outside of MPI wait for without such a ring, and whose owner is known; at most
 * eight. */
void tg_where_locks_write(FILE *stream, const struct tg_where_threads *threads);

/* Whether it has been said for whom THREAD waits. */
typedef bool tg_where_is_told(const void *context, const struct tg_where_threads *threads,
                              const struct tg_where_thread *thread);

/* A line for each wait of a thread of the program for which more is known than that it waits, those that never end
 * first; WITH_SHARED: also those of several threads at one place, of which nobody is the owner, unless IS_TOLD says so with
 * CONTEXT. Returns whether there was one. */
bool tg_where_waits_write(FILE *stream, const struct tg_where_threads *threads, bool with_shared,
                          tg_where_is_told *is_told, const void *context);

/* "mutex", as in events. */
const char *tg_where_wait_name(enum tg_wait_what what);

#endif
