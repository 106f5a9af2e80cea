#include "recorder/engine/event_queue.h"

#include "recorder/engine/stop_events.h"

#include <pthread.h>
#include <stdlib.h>

enum { DEFAULT_MAX_BYTES = 64 << 20 };

/* Two sets that change places: one is filled, the other one is emptied, and the mutex is held only to copy
 * one event or to exchange the two. */
struct tg_event_queue {
    pthread_mutex_t mutex;
    struct tg_stop_events filled; /* under the mutex */
    size_t max_bytes;
    uint64_t lost; /* under the mutex */
    struct tg_stop_events emptied;
};

struct tg_error *tg_event_queue_create(size_t max_bytes, struct tg_event_queue **queue)
{
    struct tg_event_queue *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    pthread_mutex_init(&made->mutex, NULL);
    made->max_bytes = (max_bytes == 0 ? DEFAULT_MAX_BYTES : max_bytes) / 2;
    *queue = made;
    return NULL;
}

void tg_event_queue_destroy(struct tg_event_queue *queue)
{
    if (queue == NULL)
        return;
    tg_stop_events_deinit(&queue->filled);
    tg_stop_events_deinit(&queue->emptied);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void tg_event_queue_add(struct tg_event_queue *queue, const struct tg_event *event)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->filled.bytes > queue->max_bytes || tg_stop_events_add(&queue->filled, event) == NULL)
        queue->lost++;
    pthread_mutex_unlock(&queue->mutex);
}

const struct tg_event *tg_event_queue_first(struct tg_event_queue *queue)
{
    if (tg_stop_events_first(&queue->emptied) == NULL) {
        pthread_mutex_lock(&queue->mutex);
        struct tg_stop_events filled = queue->filled;
        if (tg_stop_events_first(&filled) != NULL) {
            tg_stop_events_clear(&queue->emptied);
            queue->filled = queue->emptied;
            queue->emptied = filled;
        }
        pthread_mutex_unlock(&queue->mutex);
    }
    return tg_stop_events_first(&queue->emptied);
}

void tg_event_queue_pop(struct tg_event_queue *queue)
{
    tg_stop_events_pop(&queue->emptied);
}

bool tg_event_queue_is_filling(struct tg_event_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_filling = queue->filled.bytes > queue->max_bytes / 2;
    pthread_mutex_unlock(&queue->mutex);
    return is_filling;
}

uint64_t tg_event_queue_take_lost(struct tg_event_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    uint64_t lost = queue->lost;
    queue->lost = 0;
    pthread_mutex_unlock(&queue->mutex);
    return lost;
}
