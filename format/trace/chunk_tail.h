/* The open end of the chunk that events are added to: an event that comes again is appended there by who has it, without a call. */
#ifndef TG_FORMAT_TRACE_CHUNK_TAIL_H
#define TG_FORMAT_TRACE_CHUNK_TAIL_H

#include "format/event/event.h"
#include "format/trace/chunk_columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_chunk_encoder;

struct tg_chunk_tail {
    struct tg_chunk_encoder *encoder; /* whose it is: for tg_chunk_encoder_add_again */
    uint64_t chunk;                   /* as in struct tg_event_place */
    struct tg_chunk_columns columns;
    size_t raw_bytes;          /* of the payload, about */
    size_t max_events;         /* which there is room for, and ... */
    size_t end_bytes;          /* ... payload bytes that are not reached by appending */
    uint64_t previous_time_ns; /* of the event that was added last, ... */
    uint64_t last_time_ns;     /* ... and of the latest one */
    bool last_is_repeatable;   /* the event that was added last has no items of lists */
};

enum {
    TG_CHUNK_NEAR_NS = 1 << 20, /* from one event to the next: takes ... */
    TG_CHUNK_NEAR_BYTES = 3,
};

/* Where the next events go: a copy of what of the tail changes with each of them, which nobody else sees, so that it stays in registers. */
struct tg_chunk_pen {
    struct tg_chunk_kind *kinds;
    uint8_t *event_kinds;
    uint32_t *event_threads, *event_rows;
    uint64_t *event_times;
    size_t n_events, max_events, raw_bytes, end_bytes;
    uint64_t chunk, previous_time_ns, last_time_ns;
    unsigned time_shift;
};

static inline struct tg_chunk_pen tg_chunk_pen_begin(const struct tg_chunk_tail *tail)
{
    const struct tg_chunk_columns *columns = &tail->columns;
    return (struct tg_chunk_pen){.kinds = columns->kinds,
                                 .event_kinds = columns->event_kinds,
                                 .event_threads = columns->event_threads,
                                 .event_rows = columns->event_rows,
                                 .event_times = columns->event_times,
                                 .n_events = columns->n_events,
                                 .max_events = tail->max_events,
                                 .raw_bytes = tail->raw_bytes,
                                 .end_bytes = tail->end_bytes,
                                 .chunk = tail->chunk,
                                 .previous_time_ns = tail->previous_time_ns,
                                 .last_time_ns = tail->last_time_ns,
                                 .time_shift = columns->units.time_shift};
}

/* What PEN has appended is in the chunk. */
static inline void tg_chunk_pen_end(const struct tg_chunk_pen *pen, struct tg_chunk_tail *tail)
{
    if (pen->n_events == tail->columns.n_events)
        return;
    tail->raw_bytes = pen->raw_bytes;
    tail->previous_time_ns = pen->previous_time_ns;
    tail->last_time_ns = pen->last_time_ns;
    tail->last_is_repeatable = true;
    __atomic_store_n(&tail->columns.n_events, pen->n_events,
                     __ATOMIC_RELAXED); /* others ask how many there are */
}

/* Whether an event of PLACE, and of START_NS, rounded, can be appended. */
static inline bool tg_chunk_pen_has_room(const struct tg_chunk_pen *pen, const struct tg_event_place *place,
                                         uint64_t start_ns)
{
    return place->chunk == pen->chunk && start_ns - pen->previous_time_ns < TG_CHUNK_NEAR_NS &&
           pen->n_events < pen->max_events &&
           pen->raw_bytes + place->raw_bytes + TG_CHUNK_NEAR_BYTES < pen->end_bytes;
}

/* For which there is room. */
static inline void tg_chunk_pen_put(struct tg_chunk_pen *pen, const struct tg_event_place *place,
                                    uint64_t start_ns)
{
    size_t at = pen->n_events;
    struct tg_chunk_kind *kind = &pen->kinds[place->kind];
    uint32_t thread = place->thread, row = place->row;
    pen->raw_bytes += place->raw_bytes + TG_CHUNK_NEAR_BYTES;
    pen->event_kinds[at] = (uint8_t)(kind->chunk_index - 1);
    kind->n_events++;
    pen->event_threads[at] = thread;
    pen->event_rows[at] = row;
    pen->event_times[at] = start_ns;
    pen->previous_time_ns = start_ns;
    if (start_ns > pen->last_time_ns)
        pen->last_time_ns = start_ns;
    pen->n_events = at + 1;
}

/* Appends an event without a stop, which differs from that of PLACE in its time alone. False: PLACE is of another chunk, or this one is
 * full, or the event is not near, and nothing was appended. */
static inline bool tg_chunk_pen_append(struct tg_chunk_pen *pen, const struct tg_event_place *place,
                                       uint64_t time_ns)
{
    uint64_t start_ns = time_ns >> pen->time_shift << pen->time_shift;
    if (!tg_chunk_pen_has_room(pen, place, start_ns))
        return false;
    tg_chunk_pen_put(pen, place, start_ns);
    return true;
}

/* The same where FIELD, one without a sign, has NUMBER besides, and has had others before; PLACE is that of the event then. */
static inline bool tg_chunk_pen_append_moved(struct tg_chunk_pen *pen, struct tg_event_place *place,
                                             uint32_t field, uint64_t number, uint64_t time_ns)
{
    uint64_t start_ns = time_ns >> pen->time_shift << pen->time_shift, before;
    if (place->changed != 0 || !tg_chunk_pen_has_room(pen, place, start_ns))
        return false;
    uint32_t row = tg_chunk_rows_move(&pen->kinds[place->kind].rows, place->row, field, number, &before);
    if (row == TG_CHUNK_NO_ROW)
        return false;
    place->row = row;
    if ((number ^ before) >= 1 << 7) /* else both take as many */
        place->raw_bytes += (uint32_t)(tg_varint_bytes(number) - tg_varint_bytes(before));
    tg_chunk_pen_put(pen, place, start_ns);
    return true;
}

/* As tg_chunk_pen_append, of one event. */
static inline bool tg_chunk_tail_append(struct tg_chunk_tail *tail, const struct tg_event_place *place,
                                        uint64_t time_ns)
{
    struct tg_chunk_pen pen = tg_chunk_pen_begin(tail);
    bool appended = tg_chunk_pen_append(&pen, place, time_ns);
    tg_chunk_pen_end(&pen, tail);
    return appended;
}

#endif
