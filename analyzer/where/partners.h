/* For whom ranks wait: by the partners of their calls, and of the requests that these wait for. */
#ifndef TG_ANALYZER_WHERE_PARTNERS_H
#define TG_ANALYZER_WHERE_PARTNERS_H

#include "analyzer/where/threads.h"

#include <stdbool.h>

enum { TG_WHERE_MAX_NEEDS = TG_LOOK_MAX_MESSAGES };

/* The first threads of the ranks without whose messages the call of the first thread INDEX of a rank does not come back: each of
 * them once, in PARTNERS, TG_WHERE_MAX_NEEDS at most. Returns how many; 0: none is certain. */
size_t tg_where_partners_of(const struct tg_where_threads *threads, size_t index, size_t *partners);

/* Whether INDEX waits for PARTNER, one of its partners, whatever that one's call does: none of its messages is what that call
 * has for it. *IS_SMALL: one of these is on its way for a moment only. */
bool tg_where_is_without(const struct tg_where_threads *threads, size_t index, size_t partner,
                         bool *is_small);

/* Visits those for whom INDEX waits, and those for whom they do, and so on: each of them once, INDEX not. Behind one for whom VISIT returns
 * false nobody is visited. Without memory, nobody is. */
void tg_where_partners_visit(const struct tg_where_threads *threads, size_t index,
                             bool (*visit)(void *context, size_t index), void *context);

#endif
