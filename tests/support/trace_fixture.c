#include "tests/support/trace_fixture.h"

#include "format/trace/chunk_encoder.h"
#include "format/trace/chunk_serializer.h"
#include "format/trace/file.h"
#include "tests/support/event_sample.h"
#include "tests/support/temporary.h"

#include <stdlib.h>
#include <string.h>

void expect_error(struct tg_error *error, enum tg_error_code code, const char *text)
{
    if (error == NULL)
        fail_msg("no error, but one with \"%s\" is expected", text);
    if (tg_error_code(error) != code || strstr(tg_error_message(error), text) == NULL)
        fail_msg("unexpected error %s: %s", tg_error_code_name(tg_error_code(error)),
                 tg_error_message(error));
    tg_error_destroy(error);
}

int trace_fixture_setup(void **state)
{
    struct temporary *temporary = malloc(sizeof *temporary);
    temporary_init(temporary);
    *state = temporary;
    return 0;
}

int trace_fixture_teardown(void **state)
{
    temporary_deinit(*state);
    free(*state);
    return 0;
}

struct tg_trace_meta *trace_fixture_meta(void)
{
    struct tg_trace_meta *meta = NULL;
    assert_fine(tg_trace_meta_create(&meta));
    assert_fine(tg_trace_meta_set(meta, "tool.version", "test"));
    assert_fine(tg_trace_meta_set(meta, "command.0", "./app \xff\n"));
    assert_fine(tg_trace_meta_set_number(meta, "start.monotonic_ns", UINT64_MAX));
    return meta;
}

static void append_chunk(struct tg_trace_file *file, const struct tg_chunk_encoder *encoder)
{
    struct tg_byte_buffer payload = {0}, boundaries = {0};
    struct tg_chunk_serializer *serializer = tg_chunk_serializer_create();
    assert_non_null(serializer);
    assert_fine(tg_chunk_serialize(serializer, tg_chunk_encoder_columns(encoder), &payload, &boundaries));
    tg_chunk_serializer_destroy(serializer);
    struct tg_chunk_facts facts = {.n_events = (uint32_t)tg_chunk_encoder_count(encoder),
                                   .first_time_ns = tg_chunk_encoder_first_time(encoder),
                                   .last_time_ns = tg_chunk_encoder_last_time(encoder),
                                   .kinds = tg_chunk_columns_kinds(tg_chunk_encoder_columns(encoder))};
    assert_fine(tg_trace_file_append_events(file, &facts, &payload, &boundaries));
    tg_byte_buffer_deinit(&payload);
    tg_byte_buffer_deinit(&boundaries);
}

void trace_fixture_write(const char *path, uint64_t seed, uint64_t n, uint64_t per_chunk)
{
    struct tg_trace_file *file = NULL;
    struct tg_trace_meta *meta = trace_fixture_meta();
    assert_fine(tg_trace_file_create(path, TG_TRACE_INCOMPLETE_SUFFIX, true, 0, meta, &file));
    struct event_sample *sample = event_sample_create(seed);
    struct tg_chunk_encoder *encoder = tg_chunk_encoder_create((struct tg_trace_units){0});
    assert_non_null(encoder);
    for (uint64_t i = 0; i < n; i++) {
        assert_int_equal(tg_chunk_encoder_add(encoder, event_sample_at(sample, i)), TG_CHUNK_ADDED);
        if ((i + 1) % per_chunk == 0 || i + 1 == n) {
            append_chunk(file, encoder);
            tg_chunk_encoder_clear(encoder);
        }
    }
    assert_fine(tg_trace_file_finish(file, 0));
    tg_trace_file_destroy(file);
    tg_chunk_encoder_destroy(encoder);
    event_sample_destroy(sample);
    tg_trace_meta_destroy(meta);
}

uint64_t trace_fixture_compare(struct tg_trace_reader *reader, uint64_t seed, uint64_t first,
                               struct tg_error **error)
{
    struct event_sample *sample = event_sample_create(seed);
    const struct tg_event *event = NULL;
    uint64_t n = 0;
    for (;; n++) {
        *error = tg_trace_reader_next(reader, &event);
        if (*error != NULL || event == NULL)
            break;
        if (!event_equal(event_sample_at(sample, first + n), event))
            fail_msg("event %llu (%s) differs", (unsigned long long)n, tg_event_kind_name(event->kind));
    }
    event_sample_destroy(sample);
    return n;
}
