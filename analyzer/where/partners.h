/* For whom ranks wait: by the partners of their calls, and of the requests that these wait for. */
#ifndef TG_ANALYZER_WHERE_PARTNERS_H
#define TG_ANALYZER_WHERE_PARTNERS_H

#include "analyzer/where/threads.h"

#include <stdbool.h>

enum { TG_WHERE_MAX_NEEDS = TG_LOOK_MAX_MESSAGES };

/* The first threads of the ranks without whose messages the call of the first thread INDEX of a rank does not come back: each of
 * them once, in PARTNERS, TG_WHERE_MAX_NEEDS at most. Returns how many; 0: none is certain. */
size_t tg_where_partners_of(const struct tg_where_threads *threads, size_t index, size_t *partners);

/* Whether all messages that the call of the first thread INDEX of a rank waits for are known to be the rank's own. */
bool tg_where_needs_only_itself(const struct tg_where_threads *threads, size_t index);

/* Whether INDEX waits for PARTNER, one of its partners, whatever that one's call does: none of its messages is what that call
 * has for it. *IS_SMALL: one of these is on its way for a moment only. */
bool tg_where_is_without(const struct tg_where_threads *threads, size_t index, size_t partner,
                         bool *is_small);

/* Of each thread, in IS_ON_WAY: whether it waits for one of ENDS, or for one who does, and so on; of ENDS, whether somebody waits
 * for them. A rank that sends what another one waits for, or receives what that one sends, is none that it has to wait for any
 * longer: behind it there is no way, unless it is an end. Both have THREADS->count items, IS_ON_WAY is false before. Only error:
 * NO_MEMORY. */
struct tg_error *tg_where_ways_find(const struct tg_where_threads *threads, const bool *ends,
                                    bool *is_on_way);

#endif
