/* Process/thread sets as people write them: text to a tree and back, and what the tree means in a job.
 *
 *   ptset  := expr | primary primary+
 *   expr   := term (('|'|'-') term)*      term := primary ('&' primary)*
 *   primary:= arena | '{' primary+ '}' | '(' expr ')' | function '(' ptset ')' | '.'
 *   arena  := [t|p|g|a|d][C|D|S|W|L['/'] | NUMBER'/' | '/'NAME'/'][DPID]['.'[DTID]]     at least one part
 *   DPID   := NUMBER | 'r'NUMBER (the process of that MPI rank)      DTID := NUMBER | '<' (the lowest worker)
 *           | 'r'NUMBER'-'NUMBER (a list: the arena for each of these ranks)
 *
 * '.' alone is the current set. A number without '.' is a process, but behind the width t a thread. A list
 * may be without its braces, which Tcl takes off. Blanks separate arenas and may surround
 * operators. */
#ifndef TG_LIVE_SETS_PTSET_H
#define TG_LIVE_SETS_PTSET_H

#include "analyzer/job/set.h"
#include "analyzer/job/view.h"
#include "format/base/error.h"
#include "live/sets/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tg_ptset; /* immutable */

/* Reads TEXT. USAGE error that names the character, LIMIT error beyond the limits; *POSITION, which may be
 * NULL, is then the byte of TEXT that is meant (its length: the end). */
struct tg_error *tg_ptset_parse(const char *text, struct tg_ptset **set, size_t *position);
void tg_ptset_destroy(struct tg_ptset *set); /* NULL is accepted */

/* SET with what is missing taken from FOCUS, a complete set; NULL, everything is in focus: from d1.<. A
 * missing thread becomes '<'. '.' becomes FOCUS. Where FOCUS is no single arena, widths and processes must be
 * given (USAGE error with position); a missing group is the default one. LIMIT error where it becomes too
 * large. */
struct tg_error *tg_ptset_complete(const struct tg_ptset *set, const struct tg_ptset *focus,
                                   struct tg_ptset **complete, size_t *position);

/* The canonical text of SET, which parses to an equal set, with no more blanks and parentheses than
 * needed. The caller frees it; NULL where memory is short. */
char *tg_ptset_string(const struct tg_ptset *set);

/* The same of one arena: "gW", "p2.3", "t1.<". */
void tg_ptset_arena_write(const struct tg_ptset_arena *arena, FILE *stream);

/* Items that commands iterate over: the arenas of a list, one by one; 1 of everything else. ARENA is NULL
 * where that is an expression: then there is no process or thread of interest but the lowest of its
 * members. */
size_t tg_ptset_count(const struct tg_ptset *set);
const struct tg_ptset_arena *tg_ptset_arena(const struct tg_ptset *set, size_t i);

/* Each arena of the set, in the order of its text: *CURSOR is 0 before the first; NULL behind the last. */
const struct tg_ptset_arena *tg_ptset_next_arena(const struct tg_ptset *set, size_t *cursor);

/* Meaning of `d` and `D` for the command that asks. */
struct tg_ptset_defaults {
    enum tg_ptset_width width; /* thread, process, group or all */
    enum tg_ptset_group group; /* control, share, workers or lockstep */
};

/* Of the complete SET, which names one thread and has another width than the thread's: the same without that thread,
 * MADE, the caller's to destroy. NULL: it is no such set. Only error: NO_MEMORY. */
struct tg_error *tg_ptset_without_thread(const struct tg_ptset *set, struct tg_ptset **made);

/* The members of item I of the complete set SET, or of all of it, in VIEW. MEMBERS is initialised by the call
 * and the caller's to deinit. NOT_FOUND error, with position, for a process, rank, thread or group that the
 * job does not have, and for a process that is not in the group that is given with it. Threads of processes
 * that have ended, and such processes without threads, are members like others. */
struct tg_error *tg_ptset_members(const struct tg_ptset *set, const struct tg_job_view *view,
                                  const struct tg_ptset_defaults *defaults, struct tg_job_set *members,
                                  size_t *position);
/* The same of all of SET, but nobody where not all of it is there. Only error: NO_MEMORY. */
struct tg_error *tg_ptset_present_members(const struct tg_ptset *set, const struct tg_job_view *view,
                                          const struct tg_ptset_defaults *defaults,
                                          struct tg_job_set *members);
struct tg_error *tg_ptset_item_members(const struct tg_ptset *set, size_t i, const struct tg_job_view *view,
                                       const struct tg_ptset_defaults *defaults, struct tg_job_set *members,
                                       size_t *position);

/* The process of interest of ARENA, and the index of its thread of interest (SIZE_MAX: '<' where there is no
 * worker). NOT_FOUND errors, with position, as above; POSITION may be NULL. */
struct tg_error *tg_ptset_interest(const struct tg_ptset_arena *arena, const struct tg_job_view *view,
                                   const struct tg_job_process **process, size_t *thread, size_t *position);

/* SET as a string for the caller to free, by which another run of the same job has those again: a single
 * arena's process by its rank, where VIEW has one. NULL where memory is short. */
char *tg_ptset_lasting_string(const struct tg_ptset *set, const struct tg_job_view *view);

/* SET, one arena, without its process and thread, for the caller to free; "" where nothing is left of it, or
 * it is more than one arena. NULL where memory is short. */
char *tg_ptset_unplaced_string(const struct tg_ptset *set);

/* TEXT on a line and a `^` below byte POSITION of it, cut around it where it is long. */
void tg_ptset_point(const char *text, size_t position, FILE *stream);

#endif
