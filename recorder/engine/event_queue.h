/* Events on their way from the thread that traces to the one that writes: deep copies, in order, in bounded
 * memory. */
#ifndef TG_RECORDER_ENGINE_EVENT_QUEUE_H
#define TG_RECORDER_ENGINE_EVENT_QUEUE_H

#include "format/base/error.h"
#include "format/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tg_event_queue;

/* MAX_BYTES bounds what is not taken yet; 0: 64 MiB. */
struct tg_error *tg_event_queue_create(size_t max_bytes, struct tg_event_queue **queue);
/* NULL is accepted. */
void tg_event_queue_destroy(struct tg_event_queue *queue);

/* Adds a copy of EVENT with its strings and lists; NULL strings become "". One thread. Waits for nothing but
 * the other thread's taking over of what is there; what finds no room is counted. */
void tg_event_queue_add(struct tg_event_queue *queue, const struct tg_event *event);

/* The first event, NULL: none now. Another thread, always the same one. Valid, also when it was popped, until
 * this gives another one. */
const struct tg_event *tg_event_queue_first(struct tg_event_queue *queue);
void tg_event_queue_pop(struct tg_event_queue *queue);

/* Whether half of the room is taken. Any thread. */
bool tg_event_queue_is_filling(struct tg_event_queue *queue);

/* Events that found no room since the last call. */
uint64_t tg_event_queue_take_lost(struct tg_event_queue *queue);

#endif
