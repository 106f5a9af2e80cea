#include "format/trace/event_appender.h"

#include "format/trace/chunk_encoder.h"
#include "format/trace/chunk_serializer.h"

#include <stdbool.h>
#include <stdlib.h>

enum { CHUNK_EVENTS = 1 << 16, CHUNK_BYTES = 4 << 20 };

struct tg_event_appender {
    struct tg_trace_file *file; /* NULL: only counts */
    struct tg_chunk_encoder *encoder;
    struct tg_chunk_serializer *serializer;
    struct tg_byte_buffer payload, boundaries;
    struct tg_event_appender_stats stats;
    struct tg_error *error; /* the first one */
};

struct tg_error *tg_event_appender_create(struct tg_trace_file *file, struct tg_trace_units units,
                                          struct tg_event_appender **appender)
{
    struct tg_event_appender *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tg_error_no_memory();
    made->file = file;
    made->encoder = tg_chunk_encoder_create(units);
    made->serializer = tg_chunk_serializer_create();
    if (made->encoder == NULL || made->serializer == NULL) {
        tg_event_appender_destroy(made);
        return tg_error_no_memory();
    }
    *appender = made;
    return NULL;
}

void tg_event_appender_destroy(struct tg_event_appender *appender)
{
    if (appender == NULL)
        return;
    tg_chunk_encoder_destroy(appender->encoder);
    tg_chunk_serializer_destroy(appender->serializer);
    tg_byte_buffer_deinit(&appender->payload);
    tg_byte_buffer_deinit(&appender->boundaries);
    tg_error_destroy(appender->error);
    free(appender);
}

static void write_chunk(struct tg_event_appender *appender)
{
    size_t count = tg_chunk_encoder_count(appender->encoder);
    if (appender->error != NULL || count == 0)
        return;
    const struct tg_chunk_facts facts = {
        .n_events = (uint32_t)count,
        .first_time_ns = tg_chunk_encoder_first_time(appender->encoder),
        .last_time_ns = tg_chunk_encoder_last_time(appender->encoder),
        .kinds = tg_chunk_columns_kinds(tg_chunk_encoder_columns(appender->encoder)),
    };
    if (appender->file != NULL) {
        appender->error =
            tg_chunk_serialize(appender->serializer, tg_chunk_encoder_columns(appender->encoder),
                               &appender->payload, &appender->boundaries);
        if (appender->error == NULL)
            appender->error = tg_trace_file_append_events(appender->file, &facts, &appender->payload,
                                                          &appender->boundaries);
    }
    struct tg_event_appender_stats *stats = &appender->stats;
    if (stats->events == 0 || facts.first_time_ns < stats->first_time_ns)
        stats->first_time_ns = facts.first_time_ns;
    if (stats->events == 0 || facts.last_time_ns > stats->last_time_ns)
        stats->last_time_ns = facts.last_time_ns;
    stats->events += count;
    tg_chunk_encoder_clear(appender->encoder);
}

void tg_event_appender_add(struct tg_event_appender *appender, const struct tg_event *event)
{
    if (appender->error != NULL)
        return;
    enum tg_chunk_add added = tg_chunk_encoder_add(appender->encoder, event);
    if (added == TG_CHUNK_FULL) {
        write_chunk(appender);
        if (appender->error != NULL)
            return;
        added = tg_chunk_encoder_add(appender->encoder, event);
    }
    if (added == TG_CHUNK_NO_MEMORY)
        appender->error = tg_error_no_memory();
    else if (added != TG_CHUNK_ADDED)
        appender->stats.left_out++;
    if (tg_chunk_encoder_has(appender->encoder, CHUNK_EVENTS, CHUNK_BYTES))
        write_chunk(appender);
}

struct tg_error *tg_event_appender_flush(struct tg_event_appender *appender)
{
    write_chunk(appender);
    struct tg_error *error = appender->error;
    appender->error = NULL;
    return error;
}

struct tg_event_appender_stats tg_event_appender_stats(const struct tg_event_appender *appender)
{
    return appender->stats;
}
