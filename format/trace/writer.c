#include "format/trace/writer.h"

#include "format/base/thread.h"
#include "format/trace/chunk_encoder.h"
#include "format/trace/chunk_serializer.h"
#include "format/trace/file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CHUNK_EVENTS = 64 << 10, /* a chunk is handed to the thread when it has as many events ... */
    CHUNK_BYTES = 1 << 20,   /* ... or payload bytes: docs/performance.md */
    MAX_SPARES = 2,
    DEFAULT_FLUSH_MS = 1000,
    DEFAULT_QUEUE_BYTES = 64 << 20,
    BEHIND_CHUNKS = 8,
    BEHIND_PART = 8, /* of the queue: what waits in it is lost with a recorder that is killed */
};

struct queued_chunk {
    struct tg_chunk_encoder *encoder;
    size_t n_events;
    size_t memory_bytes; /* as counted in queue_bytes */
    struct queued_chunk *next;
};

/* Why events could not be kept since the last loss event. */
struct losses {
    uint64_t queue, limit;
};

struct tg_trace_writer {
    pthread_mutex_t mutex;
    pthread_cond_t wake; /* the thread has something to do */
    pthread_t thread;
    bool thread_started; /* with SEALING, at the first chunk */
    uint64_t flush_ns;
    void (*sealing)(void *context, uint64_t n_events, bool with_last);
    void *context;
    size_t max_queue_bytes;
    struct tg_trace_units units;

    /* Under the mutex, which nobody holds for longer than it takes to encode an event. With SEALING the thread does not
     * touch CURRENT, nor the producer's counters: most events are added without it. */
    struct tg_chunk_encoder *current; /* NULL: made for the next event */
    uint64_t current_serial;          /* number of CURRENT */
    uint64_t current_since_ns;        /* when its first event came; only where there is SEALING */
    struct queued_chunk *queue, **queue_end;
    size_t queue_bytes; /* of chunks queued and in the thread's hands ... */
    size_t n_queued;    /* ... and how many these are */
    uint64_t n_written; /* events */
    uint64_t n_before;  /* events that got into a chunk before CURRENT, ... */
    uint64_t n_lost;    /* ... and of all that got into one those that will never be in the file */
    bool adding_loss;   /* the event being added is the writer's own, not the producer's */
    struct tg_chunk_tail *
        tail; /* with SEALING: CURRENT's where it has events and is not full, and no loss is to be told; else NULL */
    struct tg_chunk_encoder *spares[MAX_SPARES];
    size_t n_spares;
    struct losses losses;
    uint64_t latest_time_ns; /* of the last event added */
    bool is_busy;            /* somebody writes a chunk */
    bool closing;            /* no thread is started any more */
    bool stopping;
    bool failed;
    struct tg_error *error; /* until taken */
    char *failure;          /* message of ERROR, for the last loss event */
    struct tg_trace_writer_stats stats;

    /* The thread's own; after it ended, the closing thread's. */
    struct tg_trace_file *file;
    struct tg_chunk_serializer *serializer;
    struct tg_byte_buffer payload, boundaries;
};

/* Everything from here to write_chunk is called with the mutex held. */

static uint64_t n_events(const struct tg_trace_writer *writer)
{
    size_t n_current = writer->current == NULL ? 0 : tg_chunk_encoder_count(writer->current);
    return writer->n_before + n_current - writer->n_lost;
}

static struct tg_error *start_thread(struct tg_trace_writer *writer);
static void fail(struct tg_trace_writer *writer, struct tg_error *error);

/* WITH_LAST: as struct tg_trace_writer_options. CURRENT becomes a spare one, or NULL. */
static bool hand_over(struct tg_trace_writer *writer, bool forced, bool with_last)
{
    size_t memory = tg_chunk_encoder_memory(writer->current);
    if (!forced && writer->queue_bytes > 0 && writer->queue_bytes + memory > writer->max_queue_bytes)
        return false;
    struct queued_chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL)
        return false;
    *chunk = (struct queued_chunk){.encoder = writer->current,
                                   .n_events = tg_chunk_encoder_count(writer->current),
                                   .memory_bytes = memory};
    if (writer->sealing != NULL)
        writer->sealing(writer->context, n_events(writer), with_last);
    *writer->queue_end = chunk;
    writer->queue_end = &chunk->next;
    writer->queue_bytes += memory;
    writer->n_queued++;
    writer->n_before += chunk->n_events;
    writer->tail = NULL;
    writer->current = writer->n_spares > 0 ? writer->spares[--writer->n_spares] : NULL;
    writer->current_serial++;
    struct tg_error *error = writer->thread_started || writer->closing ? NULL : start_thread(writer);
    if (error != NULL)
        fail(writer, error);
    pthread_cond_signal(&writer->wake);
    return true;
}

static bool is_full(const struct tg_chunk_encoder *encoder)
{
    return tg_chunk_encoder_has(encoder, CHUNK_EVENTS, CHUNK_BYTES);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The time until the flush begins. */
static void begin_interval(struct tg_trace_writer *writer)
{
    if (writer->sealing != NULL)
        writer->current_since_ns = now_ns();
    else
        pthread_cond_signal(&writer->wake);
}

static bool has_encoder(struct tg_trace_writer *writer)
{
    if (writer->current == NULL)
        writer->current = tg_chunk_encoder_create(writer->units);
    return writer->current != NULL;
}

/* The counter of what went wrong, or NULL where EVENT was kept. */
static uint64_t *keep(struct tg_trace_writer *writer, const struct tg_event *event)
{
    if (writer->current != NULL && is_full(writer->current) && !hand_over(writer, false, false))
        return &writer->losses.queue;
    for (int attempt = 0; attempt < 2 && has_encoder(writer); attempt++) {
        switch (tg_chunk_encoder_add(writer->current, event)) {
        case TG_CHUNK_ADDED:
            if (tg_chunk_encoder_count(writer->current) == 1)
                begin_interval(writer);
            if (is_full(writer->current))
                hand_over(writer, false, !writer->adding_loss);
            return NULL;
        case TG_CHUNK_FULL:
            if (!hand_over(writer, false, false))
                return &writer->losses.queue;
            break;
        case TG_CHUNK_TOO_LARGE:
            return &writer->losses.limit;
        case TG_CHUNK_NO_MEMORY:
            return &writer->losses.queue;
        }
    }
    return &writer->losses.queue;
}

static void keep_loss(struct tg_trace_writer *writer, enum tg_loss_source source, uint64_t *count,
                      const char *reason)
{
    if (*count == 0)
        return;
    struct tg_event event = {.time_ns = writer->latest_time_ns, .kind = TG_EVENT_LOSS};
    event.loss = (struct tg_event_loss){.source = source, .count = *count, .reason = reason};
    writer->adding_loss = true;
    if (keep(writer, &event) == NULL)
        *count = 0;
    writer->adding_loss = false;
}

static void keep_losses(struct tg_trace_writer *writer)
{
    keep_loss(writer, TG_LOSS_WRITER_QUEUE, &writer->losses.queue,
              "events came faster than the trace could be written");
    keep_loss(writer, TG_LOSS_LIMIT, &writer->losses.limit, "event too large for a trace");
}

static void lose(struct tg_trace_writer *writer, size_t count)
{
    writer->n_lost += count;
    writer->stats.lost_events += count;
}

/* After a failure: what nobody will write. */
static void drop_current(struct tg_trace_writer *writer)
{
    if (writer->current == NULL)
        return;
    size_t count = tg_chunk_encoder_count(writer->current);
    lose(writer, count);
    writer->n_before += count;
    tg_chunk_encoder_clear(writer->current);
    writer->tail = NULL;
}

/* CHUNK's encoder was cleared already, without the mutex where it can be. */
static void recycle(struct tg_trace_writer *writer, struct queued_chunk *chunk)
{
    writer->queue_bytes -= chunk->memory_bytes;
    writer->n_queued--;
    if (writer->n_spares < MAX_SPARES && chunk->memory_bytes <= 8 * (size_t)CHUNK_BYTES)
        writer->spares[writer->n_spares++] = chunk->encoder;
    else
        tg_chunk_encoder_destroy(chunk->encoder);
    free(chunk);
}

static struct queued_chunk *take_chunk(struct tg_trace_writer *writer)
{
    struct queued_chunk *chunk = writer->queue;
    if (chunk == NULL)
        return NULL;
    writer->queue = chunk->next;
    if (writer->queue == NULL)
        writer->queue_end = &writer->queue;
    return chunk;
}

static void fail(struct tg_trace_writer *writer, struct tg_error *error)
{
    __atomic_store_n(&writer->failed, true, __ATOMIC_RELEASE);
    writer->failure = strdup(tg_error_message(error));
    writer->error = error;
    struct queued_chunk *chunk;
    while ((chunk = take_chunk(writer)) != NULL) {
        lose(writer, chunk->n_events);
        tg_chunk_encoder_clear(chunk->encoder);
        recycle(writer, chunk);
    }
    if (writer->sealing == NULL) /* else the producer's next event, or the end, does */
        drop_current(writer);
}

/* Without the mutex. */
static struct tg_error *write_chunk(struct tg_trace_writer *writer, const struct tg_chunk_encoder *encoder)
{
    if (writer->serializer == NULL && (writer->serializer = tg_chunk_serializer_create()) == NULL)
        return tg_error_no_memory();
    struct tg_error *error = tg_chunk_serialize(writer->serializer, tg_chunk_encoder_columns(encoder),
                                                &writer->payload, &writer->boundaries);
    if (error != NULL)
        return error;
    struct tg_chunk_facts facts = {.n_events = (uint32_t)tg_chunk_encoder_count(encoder),
                                   .first_time_ns = tg_chunk_encoder_first_time(encoder),
                                   .last_time_ns = tg_chunk_encoder_last_time(encoder),
                                   .kinds = tg_chunk_columns_kinds(tg_chunk_encoder_columns(encoder))};
    return tg_trace_file_append_events(writer->file, &facts, &writer->payload, &writer->boundaries);
}

static bool has_events(const struct tg_trace_writer *writer)
{
    return writer->current != NULL && tg_chunk_encoder_count(writer->current) > 0;
}

/* Waits until there is a chunk to write (and takes it) or the end has come (NULL). Mutex held. */
static struct queued_chunk *wait_for_chunk(struct tg_trace_writer *writer)
{
    uint64_t watched_serial = UINT64_MAX, deadline_ns = 0;
    for (;;) {
        struct queued_chunk *chunk =
            writer->is_busy ? NULL : take_chunk(writer); /* the closing thread writes */
        if (chunk != NULL || writer->stopping)
            return chunk;
        if (writer->sealing != NULL || !has_events(writer)) {
            pthread_cond_wait(&writer->wake, &writer->mutex);
            continue;
        }
        uint64_t time_ns = now_ns();
        if (watched_serial != writer->current_serial) {
            watched_serial = writer->current_serial;
            deadline_ns = time_ns + writer->flush_ns;
        }
        if (time_ns >= deadline_ns) {
            if (hand_over(writer, true, true))
                continue;
            deadline_ns = time_ns + writer->flush_ns;
        }
        struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                 .tv_nsec = (long)(deadline_ns % 1000000000)};
        pthread_cond_timedwait(&writer->wake, &writer->mutex, &until);
    }
}

/* Mutex held, but not while CHUNK is written. */
static void write_taken(struct tg_trace_writer *writer, struct queued_chunk *chunk)
{
    writer->is_busy = true;
    pthread_mutex_unlock(&writer->mutex);
    struct tg_error *error = write_chunk(writer, chunk->encoder);
    tg_chunk_encoder_clear(chunk->encoder);
    pthread_mutex_lock(&writer->mutex);
    writer->is_busy = false;
    writer->stats.written_bytes = tg_trace_file_size(writer->file);
    if (error == NULL) {
        writer->n_written += chunk->n_events;
    } else {
        lose(writer, chunk->n_events);
        fail(writer, error); /* empties the queue; nothing is added to it any more */
    }
    recycle(writer, chunk);
}

static void *run_thread(void *argument)
{
    struct tg_trace_writer *writer = argument;
    struct queued_chunk *chunk;
    pthread_mutex_lock(&writer->mutex);
    while ((chunk = wait_for_chunk(writer)) != NULL)
        write_taken(writer, chunk);
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

static struct tg_error *start_thread(struct tg_trace_writer *writer)
{
    struct tg_error *error =
        tg_thread_start(run_thread, writer, "the trace writer's thread", &writer->thread);
    writer->thread_started = error == NULL;
    return error;
}

struct tg_error *tg_trace_writer_create(const char *path, const struct tg_trace_writer_options *options,
                                        const struct tg_trace_meta *meta, struct tg_trace_writer **writer)
{
    struct tg_trace_writer *created = calloc(1, sizeof *created);
    if (created == NULL)
        return tg_error_no_memory();
    uint64_t flush_ms = options->flush_interval_ms == 0 ? DEFAULT_FLUSH_MS : options->flush_interval_ms;
    if (flush_ms > 3600 * 1000)
        flush_ms = 3600 * 1000;
    created->flush_ns = flush_ms * 900000; /* a tenth is left for compressing and writing */
    created->max_queue_bytes = options->max_queue_bytes == 0 ? DEFAULT_QUEUE_BYTES : options->max_queue_bytes;
    created->queue_end = &created->queue;
    created->sealing = options->sealing;
    created->context = options->context;
    pthread_mutex_init(&created->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&created->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    struct tg_error *error = tg_trace_meta_units(meta, &created->units);
    if (error == NULL)
        error = tg_trace_file_create(path, TG_TRACE_INCOMPLETE_SUFFIX, options->overwrite,
                                     options->compression_level, meta, &created->file);
    if (error == NULL) {
        created->stats.written_bytes = tg_trace_file_size(created->file);
        if (created->sealing == NULL)
            error = start_thread(created); /* which flushes what is CURRENT */
        if (error != NULL)
            tg_trace_file_discard(created->file);
    }
    if (error != NULL) {
        tg_trace_writer_destroy(created);
        return error;
    }
    *writer = created;
    return NULL;
}

/* Events are neither the first of a chunk nor after a loss: they can be added alone. */
static bool is_open(const struct tg_trace_writer *writer)
{
    return writer->tail != NULL && !__atomic_load_n(&writer->failed, __ATOMIC_ACQUIRE);
}

/* EVENT was added alone, and CURRENT is full; or it was not. */
static void add_with_others(struct tg_trace_writer *writer, const struct tg_event *event, bool is_added)
{
    pthread_mutex_lock(&writer->mutex);
    if (is_added && !writer->failed) {
        hand_over(writer, false, true);
    } else if (writer->failed) {
        drop_current(writer);
        writer->stats.lost_events += !is_added; /* else it is one of those */
    } else {
        keep_losses(writer);
        uint64_t *loss = keep(writer, event);
        if (loss != NULL) {
            ++*loss;
            writer->stats.lost_events++;
        }
        bool is_open = writer->sealing != NULL && writer->current != NULL &&
                       writer->losses.queue + writer->losses.limit == 0 &&
                       tg_chunk_encoder_count(writer->current) > 0 && !is_full(writer->current);
        writer->tail = is_open ? tg_chunk_encoder_tail(writer->current, CHUNK_EVENTS, CHUNK_BYTES) : NULL;
    }
    pthread_mutex_unlock(&writer->mutex);
}

void tg_trace_writer_add(struct tg_trace_writer *writer, const struct tg_event *event)
{
    writer->latest_time_ns = event->time_ns;
    bool is_added = is_open(writer) && tg_chunk_encoder_add(writer->current, event) == TG_CHUNK_ADDED;
    if (!is_added || is_full(writer->current))
        add_with_others(writer, event, is_added);
}

void tg_trace_writer_add_again(struct tg_trace_writer *writer, const struct tg_event *event,
                               struct tg_event_place *place)
{
    if (!is_open(writer) || !tg_chunk_encoder_add_again(writer->current, event, place)) {
        tg_trace_writer_add(writer, event);
        *place =
            writer->tail != NULL ? tg_chunk_encoder_last_place(writer->current) : (struct tg_event_place){0};
        return;
    }
    writer->latest_time_ns = event->time_ns;
}

struct tg_chunk_tail *const *tg_trace_writer_tail(const struct tg_trace_writer *writer)
{
    return &writer->tail;
}

bool tg_trace_writer_is_behind(struct tg_trace_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    bool behind =
        writer->queue_bytes > writer->max_queue_bytes / BEHIND_PART || writer->n_queued > BEHIND_CHUNKS;
    pthread_mutex_unlock(&writer->mutex);
    return behind;
}

void tg_trace_writer_flush(struct tg_trace_writer *writer, bool at_once)
{
    pthread_mutex_lock(&writer->mutex);
    if (!writer->failed && has_events(writer) && writer->n_queued <= BEHIND_CHUNKS &&
        (at_once || now_ns() - writer->current_since_ns >= writer->flush_ns))
        hand_over(writer, true, true);
    pthread_mutex_unlock(&writer->mutex);
}

uint64_t tg_trace_writer_written(struct tg_trace_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    uint64_t n_written = writer->n_written;
    pthread_mutex_unlock(&writer->mutex);
    return n_written;
}

struct tg_error *tg_trace_writer_take_error(struct tg_trace_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    struct tg_error *error = writer->error;
    writer->error = NULL;
    pthread_mutex_unlock(&writer->mutex);
    return error;
}

struct tg_trace_writer_stats tg_trace_writer_stats(struct tg_trace_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    struct tg_trace_writer_stats stats = writer->stats;
    stats.events = n_events(writer);
    pthread_mutex_unlock(&writer->mutex);
    return stats;
}

/* Writes what is left and ends the thread: with it where it is writing, and else without, as waking it would take longer. */
static void stop_thread(struct tg_trace_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    writer->closing = true;
    if (!writer->failed && has_events(writer) && !hand_over(writer, true, true))
        fail(writer, tg_error_no_memory());
    struct queued_chunk *chunk;
    while (!writer->is_busy && (chunk = take_chunk(writer)) != NULL)
        write_taken(writer, chunk);
    writer->stopping = true;
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->mutex);
    if (writer->thread_started)
        pthread_join(writer->thread, NULL);
    writer->thread_started = false;
}

/* After a failure: one small chunk that says so, where there is room for as much by now. */
static void write_failure(struct tg_trace_writer *writer)
{
    struct tg_event event = {.time_ns = writer->latest_time_ns, .kind = TG_EVENT_LOSS};
    event.loss = (struct tg_event_loss){
        .source = TG_LOSS_WRITER_FILE, .count = writer->stats.lost_events, .reason = writer->failure};
    if (!has_encoder(writer))
        return;
    tg_chunk_encoder_clear(writer->current);
    if (tg_chunk_encoder_add(writer->current, &event) == TG_CHUNK_ADDED)
        tg_error_destroy(write_chunk(writer, writer->current));
}

struct tg_error *tg_trace_writer_close(struct tg_trace_writer *writer, struct tg_trace_writer_stats *stats)
{
    pthread_mutex_lock(&writer->mutex);
    /* Room is made for the losses, however full the queue is: this caller may wait. */
    if (!writer->failed && writer->losses.queue + writer->losses.limit > 0) {
        writer->max_queue_bytes = SIZE_MAX;
        keep_losses(writer);
    }
    pthread_mutex_unlock(&writer->mutex);
    stop_thread(writer);
    struct tg_error *error = NULL;
    if (writer->failed)
        drop_current(writer);
    writer->stats.events = n_events(writer);
    if (writer->failed) {
        write_failure(writer);
        error = writer->error;
        writer->error = NULL;
    } else {
        error = tg_trace_file_finish(writer->file, writer->stats.lost_events);
    }
    writer->stats.written_bytes = tg_trace_file_size(writer->file);
    if (stats != NULL)
        *stats = writer->stats;
    tg_trace_writer_destroy(writer);
    return error;
}

void tg_trace_writer_destroy(struct tg_trace_writer *writer)
{
    if (writer == NULL)
        return;
    stop_thread(writer);
    tg_trace_file_destroy(writer->file);
    tg_chunk_encoder_destroy(writer->current);
    for (size_t i = 0; i < writer->n_spares; i++)
        tg_chunk_encoder_destroy(writer->spares[i]);
    tg_error_destroy(writer->error);
    free(writer->failure);
    tg_chunk_serializer_destroy(writer->serializer);
    tg_byte_buffer_deinit(&writer->payload);
    tg_byte_buffer_deinit(&writer->boundaries);
    pthread_cond_destroy(&writer->wake);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
}
