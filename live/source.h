/*
 * Where the console's job comes from: a trace now, an engine that traces a live job with the same commands.
 *
 * To add a source: a struct that begins with struct tg_source, a const struct tg_source_ops, a function that
 * creates it. Operations that are NULL are told to be impossible.
 */
#ifndef TG_LIVE_SOURCE_H
#define TG_LIVE_SOURCE_H

#include "format/error.h"
#include "format/event.h"
#include "live/moment.h"

#include <stdbool.h>
#include <stdint.h>

/* Where to go. */
enum tg_target_kind {
    TG_TO_EVENT, /* behind event NUMBER; 0: before the first; beyond the last one: to the end */
    TG_TO_TIME,  /* before the first event later than TIME_NS */
    TG_TO_END,
};

struct tg_target {
    enum tg_target_kind kind;
    uint64_t number;
    uint64_t time_ns; /* of the source's clock */
};

/* Begins every source. Read-only for others; what it points to lives until the source moves. */
struct tg_source {
    const struct tg_source_ops *ops;
    const struct tg_moment *moment; /* after the event below */
    const struct tg_event *event;   /* that was taken last, NULL before the first */
    uint64_t number;                /* of that event, from 1; 0 before the first */
    uint64_t time_ns;               /* of that event; before the first the start */
    uint64_t start_ns;              /* times are told relative to it */
    uint64_t n_events;              /* in all, 0 not known (yet) */
    const char *name;               /* of the trace or the command */
    const char *trace_path;         /* of the trace that has these events, NULL: none */
    struct tg_error *damage;        /* why events end early, NULL they do not; owned by the source */
};

struct tg_source_ops {
    void (*destroy)(struct tg_source *source);
    /* Takes the next event. At the end source->event stays as it is and *AT_END is true. */
    struct tg_error *(*step)(struct tg_source *source, bool *at_end);
    /*
     * Goes to TARGET, in either direction. An interrupt (live/interrupt.h) ends it with a USAGE error where
     * it is then, a valid place.
     */
    struct tg_error *(*seek)(struct tg_source *source, const struct tg_target *target);
    /*
     * The last event up to NUMBER from where reading on begins at once; 0: the start. Who looks for something
     * backwards goes from one of these to the next. NULL: there is none but the start.
     */
    uint64_t (*landmark)(struct tg_source *source, uint64_t number);
};

/* The source is where it was if STEP or SEEK fail with another error than an interrupt or NO_MEMORY. */
static inline void tg_source_destroy(struct tg_source *source)
{
    if (source != NULL)
        source->ops->destroy(source);
}

#endif
