/* The pace of a recording's stops. A tracer that waits for the next stop looks for it a few times before it
 * sleeps, if the last ones came soon (recorder/engine/stop_wait.h): what a stop costs besides the tracer's own
 * time depends on that. State + event -> state. */
#ifndef TG_ANALYZER_FILTER_PACE_H
#define TG_ANALYZER_FILTER_PACE_H

#include "format/event/event.h"

#include <stdbool.h>

/* Zero-initialised: nothing has stopped yet. */
struct tg_pace {
    uint64_t resumed_ns; /* end of the latest stop */
    int32_t tid;         /* the thread of that */
    uint64_t
        gap_ns; /* before it, since the end of the same thread's stop before; UINT64_MAX: another's came between */
    unsigned short_waits; /* as the recorder counts them */
    bool sparse;          /* the tracer slept before the latest stop */
};

/* Takes EVENT, in trace order. Where an agent saw what the loader did, its events count as stops of no length; others
 * without a stop of their own change nothing. */
void tg_pace_add(struct tg_pace *pace, const struct tg_event *event);

#endif
