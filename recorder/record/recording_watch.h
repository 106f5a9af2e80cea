/* A controller that watches a recording while it is made. */
#ifndef TG_RECORDER_RECORD_RECORDING_WATCH_H
#define TG_RECORDER_RECORD_RECORDING_WATCH_H

#include "recorder/loader/loader.h"

#include <stdbool.h>

/* Callbacks of a controller that watches a recording and controls the job. */
struct tg_recording_watch {
    void *context;
    /* Every event that is written, in the order of the trace; on the thread that writes. */
    void (*written)(void *context, const struct tg_event *event);
    /* Whether WRITTEN cannot keep up for the moment: agents then wait with events of their own. */
    bool (*is_behind)(void *context);
    /* As tg_engine_options; on the tracer thread. */
    void (*emitted)(void *context, const struct tg_event *event);
    /* The same: after tg_engine_wake. */
    void (*serve)(void *context);
    /* As tg_agent_session_start. */
    void (*gates_called)(void *context);
    const struct tg_loader_listener *libraries; /* told of handled libraries; NULL: nobody is */
};

#endif
