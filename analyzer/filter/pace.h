/* The pace of a recording's stops. A tracer that waits for the next stop looks for it a few times before it
 * sleeps, if the last ones came soon (recorder/engine/stop_wait.h): what a stop costs besides the tracer's own
 * time depends on that. State + event -> state. */
#ifndef TG_ANALYZER_FILTER_PACE_H
#define TG_ANALYZER_FILTER_PACE_H

#include "format/event/event.h"

#include <stdbool.h>

/* The end of a thread's latest stop. */
struct tg_pace_resumed {
    int32_t tid; /* 0 none */
    uint64_t ns;
};

enum { TG_PACE_THREADS = 256 };

/* Zero-initialised: nothing has stopped yet. */
struct tg_pace {
    struct tg_pace_resumed threads[TG_PACE_THREADS]; /* by tid; of two that share a place, the latest */
    uint64_t resumed_ns;                             /* end of the latest stop of all */
    uint64_t
        gap_ns; /* before the latest stop, since the end of the one before of its thread; UINT64_MAX: not known */
    uint64_t
        looked_ns; /* of all waits for measured stops, the time that the tracer looked and did not sleep */
    unsigned short_waits; /* as the recorder counts them */
    bool sparse;          /* the tracer slept before the latest stop */
};

/* Takes EVENT, in trace order. Where an agent saw what the loader did, its events count as stops of no length; others
 * without a stop of their own change nothing. */
void tg_pace_add(struct tg_pace *pace, const struct tg_event *event);

#endif
