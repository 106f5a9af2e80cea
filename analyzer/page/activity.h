/* The activity of a thread: computing, in MPI, waiting at a barrier, ... as its events tell it. One number a thread, so that
 * the state of ten thousand threads at hundreds of moments of a trace is small. */
#ifndef TG_ANALYZER_PAGE_ACTIVITY_H
#define TG_ANALYZER_PAGE_ACTIVITY_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

enum tg_activity {
    TG_ACTIVITY_NONE, /* not there, or a worker outside of all regions */
    TG_ACTIVITY_COMPUTING,
    TG_ACTIVITY_MPI,
    TG_ACTIVITY_BARRIER,  /* waiting at an OpenMP barrier, or for tasks */
    TG_ACTIVITY_LOCK,     /* waiting for a lock, or for a critical section */
    TG_ACTIVITY_CRITICAL, /* inside of one */
    TG_ACTIVITY_LOADING,  /* in dlopen, dlclose and the like */
    TG_ACTIVITY_STOPPED,
    TG_ACTIVITY_HELD,
    TG_ACTIVITY_COUNT,
};

const char *tg_activity_name(enum tg_activity activity); /* as in the page's JSON */

/* State of a thread: what it is inside of, at most 14 deep; what is deeper does not show. 0: it is not there. */
typedef uint64_t tg_activity_state;

#define TG_ACTIVITY_STARTED ((tg_activity_state)1 << 63)

enum tg_activity tg_activity_of(tg_activity_state state);

/* STATE after EVENT, one of the thread's own. A thread that has none yet is there from its first event on. */
tg_activity_state tg_activity_after(tg_activity_state state, const struct tg_event *event);
/* The same where the event is about all threads of its process. */
tg_activity_state tg_activity_after_process(tg_activity_state state, const struct tg_event *event);

/* Whether EVENT tells of all threads of its process; whether it shows what a thread does. */
bool tg_activity_is_of_process(const struct tg_event *event);
bool tg_activity_is_shown_by(const struct tg_event *event);

#endif
