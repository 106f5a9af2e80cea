/* Encodes events into the columns of one EVENTS chunk. */
#ifndef TG_FORMAT_TRACE_CHUNK_ENCODER_H
#define TG_FORMAT_TRACE_CHUNK_ENCODER_H

#include "format/event/event.h"
#include "format/trace/meta.h"

#include <stdbool.h>
#include <stddef.h>

struct tg_chunk_columns;
struct tg_chunk_encoder;
struct tg_chunk_tail;

/* NULL where memory is short. Times are rounded down to UNITS' time; a stop is the difference of its
 * beginning and its end, both rounded down to UNITS' stop, so that the sum of many is not biased, but one
 * unit at least. */
struct tg_chunk_encoder *tg_chunk_encoder_create(struct tg_trace_units units);
void tg_chunk_encoder_destroy(struct tg_chunk_encoder *encoder);

/* Forgets the events, keeps the memory. */
void tg_chunk_encoder_clear(struct tg_chunk_encoder *encoder);

enum tg_chunk_add {
    TG_CHUNK_ADDED,
    TG_CHUNK_FULL,      /* the chunk would pass a limit: the event fits into an empty one */
    TG_CHUNK_TOO_LARGE, /* the event alone passes a limit, or is of no known kind */
    TG_CHUNK_NO_MEMORY,
};

/* Appends a copy of EVENT, or nothing of it. */
enum tg_chunk_add tg_chunk_encoder_add(struct tg_chunk_encoder *encoder, const struct tg_event *event);

/* Appends a copy of EVENT, which has no stop, where PLACE says. False: that is not of the events of now, or it can't be appended (chunk_tail.h), and nothing was. */
bool tg_chunk_encoder_add_again(struct tg_chunk_encoder *encoder, const struct tg_event *event,
                                struct tg_event_place *place);
/* Of the event that was added last; nowhere where it has items of several lists, or of several members. */
struct tg_event_place tg_chunk_encoder_last_place(const struct tg_chunk_encoder *encoder);

/* Where events can be appended as well, until ENCODER is cleared: fewer than N_EVENTS, and RAW_BYTES of the payload, are in it then. */
struct tg_chunk_tail *tg_chunk_encoder_tail(struct tg_chunk_encoder *encoder, size_t n_events,
                                            size_t raw_bytes);

size_t tg_chunk_encoder_count(const struct tg_chunk_encoder *encoder);
/* Whether there are as many events, or as many bytes of the payload, about. */
bool tg_chunk_encoder_has(const struct tg_chunk_encoder *encoder, size_t n_events, size_t raw_bytes);
/* Bytes of memory held. */
size_t tg_chunk_encoder_memory(const struct tg_chunk_encoder *encoder);
/* The least and the greatest time of its events; 0 and 0 without any. */
uint64_t tg_chunk_encoder_first_time(const struct tg_chunk_encoder *encoder);
uint64_t tg_chunk_encoder_last_time(const struct tg_chunk_encoder *encoder);

/* The events added so far, for tg_chunk_serialize. Valid until the next call. */
const struct tg_chunk_columns *tg_chunk_encoder_columns(const struct tg_chunk_encoder *encoder);

#endif
