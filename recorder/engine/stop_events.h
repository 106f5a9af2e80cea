/* Events emitted while a thread is stopped. They are kept here, deeply copied, until the thread was resumed:
 * encoding and queueing them is then no part of the stop. */
#ifndef TG_RECORDER_ENGINE_STOP_EVENTS_H
#define TG_RECORDER_ENGINE_STOP_EVENTS_H

#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_stop_event; /* one kept event */
struct tg_arena_block;

/* Zero-initialised means empty; memory is kept from one stop to the next. */
struct tg_stop_events {
    struct tg_arena_block *blocks; /* newest first; after a stop the largest one stays */
    struct tg_stop_event *first;
    struct tg_stop_event **last;
    uint64_t lost; /* events that no memory could be had for */
    size_t bytes;  /* taken by what was added since the last flush or clear */
};

/* Copies EVENT with its strings and lists; a NULL string becomes "". Returns the copy, which lives until
 * the flush; without memory the event is counted as lost and NULL comes back. */
struct tg_event *tg_stop_events_add(struct tg_stop_events *events, const struct tg_event *event);

/* Hands everything to ADD in order, STOP_NS on the first one, and forgets it. */
void tg_stop_events_flush(struct tg_stop_events *events, uint64_t stop_ns,
                          void (*add)(void *context, const struct tg_event *event), void *context);

/* One by one instead: the first event kept, NULL where there is none; and on to the next. What was popped
 * stays valid until the clear, which keeps memory for what is added next. */
const struct tg_event *tg_stop_events_first(const struct tg_stop_events *events);
void tg_stop_events_pop(struct tg_stop_events *events);
void tg_stop_events_clear(struct tg_stop_events *events);

void tg_stop_events_deinit(struct tg_stop_events *events);

#endif
