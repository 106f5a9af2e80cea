/* Kinds of events that a part of a trace may have. */
#ifndef TG_FORMAT_TRACE_KIND_SET_H
#define TG_FORMAT_TRACE_KIND_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TG_KIND_SET_WORDS = 8 }; /* of 64 kinds each: all that there can be */

/* Caller's storage; all zero may be of any kind, with any stop. */
struct tg_kind_set {
    uint64_t kinds[TG_KIND_SET_WORDS]; /* by place in tg_event_kind_at */
    bool is_known;                     /* there are no events of other kinds */
    bool any_stop;                     /* an event may have a stop */
};

/* Which kinds somebody wants; CONTEXT is handed to WANTS. Without WANTS: all of them. */
struct tg_wanted_kinds {
    bool (*wants)(const void *context, unsigned kind);
    const void *context;
};

static inline bool tg_wanted_kinds_has(const struct tg_wanted_kinds *wanted, unsigned kind)
{
    return wanted->wants == NULL || wanted->wants(wanted->context, kind);
}

/* KIND may be a number that is no kind here: the set may be of any kind then. */
void tg_kind_set_add(struct tg_kind_set *set, unsigned kind);

bool tg_kind_set_has(const struct tg_kind_set *set, unsigned kind);
unsigned tg_kind_set_count(const struct tg_kind_set *set);

/* Makes SET that of both parts. */
void tg_kind_set_join(struct tg_kind_set *set, const struct tg_kind_set *part);

/* Whether a part of what SET describes may be as PART says. */
bool tg_kind_set_covers(const struct tg_kind_set *set, const struct tg_kind_set *part);

/* Whether there may be events that are WANTED, or have a stop. */
bool tg_kind_set_is_wanted(const struct tg_kind_set *set, const struct tg_wanted_kinds *wanted);

#endif
