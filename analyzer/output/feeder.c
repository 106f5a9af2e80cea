#include "analyzer/output/feeder.h"

#include "format/base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Waking a thread costs as much as feeding dozens of events: who waits is woken for several batches at a time. */
enum { BATCH = 256, N_BATCHES = 8, WORTH_WAKING = N_BATCHES / 2, LIST_BYTES = 32 << 10, POLLS = 64 };

struct batch {
    size_t n_items, list_bytes;
    struct tg_event events[BATCH];
    size_t processes[BATCH];
    char lists[LIST_BYTES];
};

struct tg_feeder {
    tg_feeder_take *take;
    void *model;
    bool *has_lists;              /* by place of the kind */
    struct batch *batches;        /* a ring */
    uint64_t n_filled, n_emptied; /* of batches; __atomic, changed under the mutex */
    struct tg_error *error;       /* of the model; the thread's own while batches are not emptied */
    bool has_failed;              /* likewise */

    pthread_t thread;
    bool is_threaded, cannot_thread;
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
    uint64_t wanted_filled,
        wanted_emptied; /* what the thread, and who feeds, waits for; UINT64_MAX: for nothing */
    bool is_ending;
};

struct tg_error *tg_feeder_create(tg_feeder_take *take, void *model, struct tg_feeder **feeder)
{
    struct tg_feeder *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    created->take = take;
    created->model = model;
    created->wanted_filled = created->wanted_emptied = UINT64_MAX;
    pthread_mutex_init(&created->mutex, NULL);
    pthread_cond_init(&created->filled, NULL);
    pthread_cond_init(&created->emptied, NULL);
    created->has_lists = calloc(tg_event_kind_count(), sizeof *created->has_lists);
    created->batches = calloc(N_BATCHES, sizeof *created->batches);
    if (created->has_lists == NULL || created->batches == NULL) {
        tg_feeder_destroy(created);
        return tg_error_no_memory();
    }
    for (size_t i = 0; i < tg_event_kind_count(); i++) {
        const struct tg_record_schema *schema = tg_event_schema(tg_event_kind_at(i));
        for (size_t f = 0; f < schema->n_fields; f++)
            created->has_lists[i] |= schema->fields[f].type == TG_FIELD_LIST;
    }
    *feeder = created;
    return NULL;
}

void tg_feeder_destroy(struct tg_feeder *feeder)
{
    if (feeder == NULL)
        return;
    if (feeder->is_threaded) {
        pthread_mutex_lock(&feeder->mutex);
        feeder->is_ending = true;
        pthread_cond_signal(&feeder->filled);
        pthread_mutex_unlock(&feeder->mutex);
        pthread_join(feeder->thread, NULL);
    }
    pthread_cond_destroy(&feeder->emptied);
    pthread_cond_destroy(&feeder->filled);
    pthread_mutex_destroy(&feeder->mutex);
    tg_error_destroy(feeder->error);
    free(feeder->batches);
    free(feeder->has_lists);
    free(feeder);
}

static void empty(struct tg_feeder *feeder, struct batch *batch)
{
    if (!feeder->has_failed) {
        feeder->error = feeder->take(feeder->model, batch->events, batch->processes, batch->n_items);
        feeder->has_failed = feeder->error != NULL;
    }
    batch->n_items = batch->list_bytes = 0;
}

static struct batch *batch_at(struct tg_feeder *feeder, uint64_t number)
{
    return &feeder->batches[number % N_BATCHES];
}

/* Counts one more batch in COUNTER, and wakes who waits by CONDITION until WANTED are there. */
static void count(struct tg_feeder *feeder, uint64_t *counter, uint64_t *wanted, pthread_cond_t *condition)
{
    pthread_mutex_lock(&feeder->mutex);
    __atomic_store_n(counter, *counter + 1, __ATOMIC_RELEASE);
    if (*counter >= *wanted) {
        *wanted = UINT64_MAX;
        pthread_cond_signal(condition);
    }
    pthread_mutex_unlock(&feeder->mutex);
}

/* Looks for a while whether COUNTER reaches NUMBER: whoever sleeps has to be woken. */
static bool poll_for(const uint64_t *counter, uint64_t number)
{
    for (int i = 0; i < POLLS; i++) {
        if (__atomic_load_n(counter, __ATOMIC_ACQUIRE) >= number)
            return true;
        sched_yield();
    }
    return false;
}

/* Returns when COUNTER has reached NUMBER, or where WORTH is not reached before, or at the feeder's end. */
static void wait_for(struct tg_feeder *feeder, const uint64_t *counter, uint64_t number, uint64_t worth,
                     uint64_t *wanted, pthread_cond_t *condition)
{
    if (poll_for(counter, number))
        return;
    pthread_mutex_lock(&feeder->mutex);
    while (*counter < number && !feeder->is_ending) {
        *wanted = worth;
        pthread_cond_wait(condition, &feeder->mutex);
    }
    *wanted = UINT64_MAX;
    pthread_mutex_unlock(&feeder->mutex);
}

static void *run(void *argument)
{
    struct tg_feeder *feeder = argument;
    for (uint64_t next = 0;; next++) {
        wait_for(feeder, &feeder->n_filled, next + 1, next + WORTH_WAKING, &feeder->wanted_filled,
                 &feeder->filled);
        if (__atomic_load_n(&feeder->n_filled, __ATOMIC_ACQUIRE) == next)
            return NULL; /* the feeder's end */
        empty(feeder, batch_at(feeder, next));
        count(feeder, &feeder->n_emptied, &feeder->wanted_emptied, &feeder->emptied);
    }
}

/* False where no thread can be had. */
static bool need_thread(struct tg_feeder *feeder)
{
    if (feeder->is_threaded || feeder->cannot_thread)
        return feeder->is_threaded;
    struct tg_error *error = tg_thread_start(run, feeder, "a feeder's thread", &feeder->thread);
    feeder->is_threaded = error == NULL;
    feeder->cannot_thread = !feeder->is_threaded;
    tg_error_destroy(error);
    return feeder->is_threaded;
}

/* Waits until the thread has emptied NUMBER batches; WORTH: how many make it worth waking up. */
static void wait_for_emptied(struct tg_feeder *feeder, uint64_t number, uint64_t worth)
{
    wait_for(feeder, &feeder->n_emptied, number, worth, &feeder->wanted_emptied, &feeder->emptied);
}

/* Hands over the batch that is being filled; there is room in the next one then. */
static void hand_over(struct tg_feeder *feeder)
{
    if (!need_thread(feeder)) {
        empty(feeder, batch_at(feeder, feeder->n_filled));
        return;
    }
    count(feeder, &feeder->n_filled, &feeder->wanted_filled, &feeder->filled);
    if (feeder->n_filled >= N_BATCHES)
        wait_for_emptied(feeder, feeder->n_filled - N_BATCHES + 1,
                         feeder->n_filled - N_BATCHES + WORTH_WAKING);
}

struct tg_error *tg_feeder_settle(struct tg_feeder *feeder)
{
    if (feeder->is_threaded) {
        pthread_mutex_lock(&feeder->mutex); /* the thread need not wait for more */
        if (feeder->wanted_filled != UINT64_MAX)
            pthread_cond_signal(&feeder->filled);
        pthread_mutex_unlock(&feeder->mutex);
        wait_for_emptied(feeder, feeder->n_filled, feeder->n_filled);
    }
    empty(feeder, batch_at(feeder, feeder->n_filled));
    struct tg_error *error = feeder->error;
    feeder->error = NULL;
    return error;
}

/* Gives the lists of EVENT, a copy in BATCH, items in there; false where there is no room for them. */
static bool copy_lists(struct batch *batch, struct tg_event *event)
{
    const struct tg_record_schema *schema = tg_event_schema(event->kind);
    for (size_t f = 0; f < schema->n_fields; f++) {
        const struct tg_field *field = &schema->fields[f];
        if (field->type != TG_FIELD_LIST)
            continue;
        struct tg_list *list = (struct tg_list *)((char *)TG_EVENT_PAYLOAD(event) + field->offset);
        size_t size = field->element->size_bytes;
        if (list->count > (LIST_BYTES - batch->list_bytes) / size)
            return false;
        if (list->count > 0)
            memcpy(batch->lists + batch->list_bytes, list->items, list->count * size);
        list->items = batch->lists + batch->list_bytes;
        batch->list_bytes += list->count * size;
    }
    return true;
}

/* Adds the first of COUNT events to the batch, as many as it has room for; returns how many these are. */
static size_t add(struct tg_feeder *feeder, const struct tg_event *events, const size_t *processes,
                  size_t count)
{
    struct batch *batch = batch_at(feeder, feeder->n_filled);
    size_t n = count < BATCH - batch->n_items ? count : BATCH - batch->n_items, added = 0;
    struct tg_event *copies = &batch->events[batch->n_items];
    memcpy(copies, events, n * sizeof *events);
    memcpy(&batch->processes[batch->n_items], processes, n * sizeof *processes);
    while (added < n &&
           (!feeder->has_lists[tg_event_kind_place(copies[added].kind)] || copy_lists(batch, &copies[added])))
        added++;
    batch->n_items += added;
    return added;
}

struct tg_error *tg_feeder_feed(struct tg_feeder *feeder, const struct tg_event *events,
                                const size_t *processes, size_t count)
{
    struct tg_error *error = NULL;
    for (size_t i = 0, added; error == NULL && i < count; i += added) {
        added = add(feeder, events + i, processes + i, count - i);
        struct batch *batch = batch_at(feeder, feeder->n_filled);
        if (batch->n_items > 0 && (added == 0 || batch->n_items == BATCH)) {
            hand_over(feeder);
        } else if (added == 0) { /* beyond any batch */
            added = 1;
            error = tg_feeder_settle(feeder);
            if (error == NULL && !feeder->has_failed)
                error = feeder->take(feeder->model, events + i, processes + i, 1);
        }
    }
    return error;
}
