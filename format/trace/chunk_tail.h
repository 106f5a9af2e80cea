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

/* Whether an event of RAW_BYTES, and of START_NS, rounded, can be appended to the chunk of PLACE. */
static inline bool tg_chunk_tail_has_room(const struct tg_chunk_tail *tail,
                                          const struct tg_event_place *place, uint64_t start_ns)
{
    return place->chunk == tail->chunk && start_ns - tail->previous_time_ns < TG_CHUNK_NEAR_NS &&
           tail->columns.n_events < tail->max_events &&
           tail->raw_bytes + place->raw_bytes + TG_CHUNK_NEAR_BYTES < tail->end_bytes;
}

/* For which there is room. */
static inline void tg_chunk_tail_put(struct tg_chunk_tail *tail, const struct tg_event_place *place,
                                     struct tg_chunk_kind *kind, uint64_t start_ns)
{
    struct tg_chunk_columns *columns = &tail->columns;
    size_t at = columns->n_events;
    columns->event_kinds[at] = (uint8_t)place->kind;
    columns->event_threads[at] = place->thread;
    columns->event_rows[at] = place->row;
    columns->event_times[at] = start_ns;
    kind->n_events++;
    tail->previous_time_ns = start_ns;
    if (start_ns > tail->last_time_ns)
        tail->last_time_ns = start_ns;
    tail->raw_bytes += place->raw_bytes + TG_CHUNK_NEAR_BYTES;
    tail->last_is_repeatable = true;
    __atomic_store_n(&columns->n_events, at + 1, __ATOMIC_RELAXED); /* others ask how many there are */
}

static inline struct tg_chunk_kind *tg_chunk_tail_kind(const struct tg_chunk_tail *tail,
                                                       const struct tg_event_place *place)
{
    return &tail->columns.kinds[tail->columns.kinds_used[place->kind]];
}

/* Appends an event without a stop, which differs from that of PLACE in its time alone. False: PLACE is of another chunk, or this one is
 * full, or the event is not near, and nothing was appended. */
static inline bool tg_chunk_tail_append(struct tg_chunk_tail *tail, const struct tg_event_place *place,
                                        uint64_t time_ns)
{
    unsigned shift = tail->columns.units.time_shift;
    uint64_t start_ns = time_ns >> shift << shift;
    if (!tg_chunk_tail_has_room(tail, place, start_ns))
        return false;
    tg_chunk_tail_put(tail, place, tg_chunk_tail_kind(tail, place), start_ns);
    return true;
}

/* The same where FIELD, one without a sign, has NUMBER besides, and has had others before; PLACE is that of the event then. */
static inline bool tg_chunk_tail_append_moved(struct tg_chunk_tail *tail, struct tg_event_place *place,
                                              uint32_t field, uint64_t number, uint64_t time_ns)
{
    unsigned shift = tail->columns.units.time_shift;
    uint64_t start_ns = time_ns >> shift << shift, before;
    if (place->changed != 0 || !tg_chunk_tail_has_room(tail, place, start_ns))
        return false;
    struct tg_chunk_kind *kind = tg_chunk_tail_kind(tail, place);
    uint32_t row = tg_chunk_rows_move(&kind->rows, place->row, field, number, &before);
    if (row == TG_CHUNK_NO_ROW)
        return false;
    place->row = row;
    place->raw_bytes += (uint32_t)(tg_varint_bytes(number) - tg_varint_bytes(before));
    tg_chunk_tail_put(tail, place, kind, start_ns);
    return true;
}

#endif
