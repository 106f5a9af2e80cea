/* The dlopen filter: Slow, Medium or Fast with its glob-list; pure decisions shared by recorder, analyzer and
 * live. */
#ifndef TG_FORMAT_SETTINGS_DLOPEN_FILTER_H
#define TG_FORMAT_SETTINGS_DLOPEN_FILTER_H

#include "format/base/error.h"
#include "format/event/event.h"
#include "format/settings/glob_list.h"

/* The two state variables. always_recalculate true: Slow. false with a match text: Medium. false with "":
 * Fast. Owned by the caller's storage; deinit frees the list. */
struct tg_dlopen_filter {
    enum tg_filter_mode mode;
    struct tg_glob_list *list; /* never NULL after init */
};

/* Slow, with an empty glob-list: the defaults of the variables. */
struct tg_error *tg_dlopen_filter_init(struct tg_dlopen_filter *filter);
void tg_dlopen_filter_deinit(struct tg_dlopen_filter *filter);
/* Initialises COPY with what FILTER says. */
struct tg_error *tg_dlopen_filter_copy(const struct tg_dlopen_filter *filter, struct tg_dlopen_filter *copy);

/* From the two variables (TV::dlopen_always_recalculate, TV::dlopen_recalculate_on_match). FILTER must be
 * initialised. */
struct tg_error *tg_dlopen_filter_set(struct tg_dlopen_filter *filter, bool always_recalculate,
                                      const char *match);

/* From a mode name ("slow", "medium", "fast") and an optional match (NULL); medium without one, or fast with
   a non-empty one, is a USAGE error that says what to do. */
struct tg_error *tg_dlopen_filter_set_mode(struct tg_dlopen_filter *filter, const char *mode,
                                           const char *match);

/* "slow", "medium", "fast". */
const char *tg_dlopen_filter_mode_name(enum tg_filter_mode mode);

/* The USAGE error for a mode that does not exist; names the one that was probably meant. */
struct tg_error *tg_dlopen_filter_refuse_mode(const char *mode);

/* The decision on one load event, as the trace records it. Pattern and library point into FILTER and
 * LIBRARIES. */
struct tg_event_filter_decision
tg_dlopen_filter_decide(const struct tg_dlopen_filter *filter,
                        const struct tg_list *libraries /* struct tg_library */);

#endif
