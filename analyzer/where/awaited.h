/* For whom ranks in collective calls wait, by the members of the communicators of these calls. */
#ifndef TG_ANALYZER_WHERE_AWAITED_H
#define TG_ANALYZER_WHERE_AWAITED_H

#include "analyzer/where/group.h"

/* How many of COUNT threads, INDICES of first threads of ranks that are away, have to make the call of GROUP. */
size_t tg_where_count_lacking(const struct tg_where_threads *threads, const struct tg_where_group *group,
                              const size_t *indices, size_t count);

/* Whether all members of the communicator of the collective call that the first thread INDEX of a rank is in were looked at, and all are in that
 * very call, but for the rank of OTHER. */
bool tg_where_is_only_lacking(const struct tg_where_threads *threads, size_t index, size_t other);

/* Whether somebody of the COUNT groups waits for the first thread INDEX of a rank that is away: in a collective call, or, as IS_ON_WAY says, for
 * a message. */
enum tg_where_awaited tg_where_awaited_of(const struct tg_where_threads *threads,
                                          const struct tg_where_group *groups, const size_t *n_lacking,
                                          size_t count, size_t index, bool is_on_way);

/* Whether the members of the communicator of each collective call are known. */
bool tg_where_members_are_known(const struct tg_where_threads *threads, const struct tg_where_group *groups,
                                size_t count);

/* Where they are: whether each rank that waits, in a collective call or for a message, waits for ranks that are away, or, in the end,
 * for such who do. Where not, some wait for each other, or for nobody who is known. Only error: NO_MEMORY. */
struct tg_error *tg_where_chains_end(const struct tg_where_threads *threads,
                                     const struct tg_where_group *groups, size_t count, bool *do_end);

#endif
