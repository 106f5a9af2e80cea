#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/trace_reader.h"
#include "format/trace_section.h"
#include "format/trace_writer.h"
#include "tests/support/event_sample.h"
#include "tests/support/temporary.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define assert_fine(expression)                                                                              \
    do {                                                                                                     \
        struct tg_error *assert_error = (expression);                                                        \
        if (assert_error != NULL)                                                                            \
            fail_msg("%s", tg_error_message(assert_error));                                                  \
    } while (0)

static int make_directory(void **state)
{
    struct temporary *temporary = malloc(sizeof *temporary);
    temporary_init(temporary);
    *state = temporary;
    return 0;
}

static int remove_directory(void **state)
{
    temporary_deinit(*state);
    free(*state);
    return 0;
}

static struct tg_trace_meta *make_meta(void)
{
    struct tg_trace_meta *meta = NULL;
    assert_fine(tg_trace_meta_create(&meta));
    assert_fine(tg_trace_meta_set(meta, "tool.version", "test"));
    assert_fine(tg_trace_meta_set(meta, "command.0", "./app \xff\n"));
    assert_fine(tg_trace_meta_set_number(meta, "start.monotonic_ns", UINT64_MAX));
    return meta;
}

/* A trace of N sample events; CHUNK > 0: flushed into a chunk after each CHUNK events. */
static void write_trace(const char *path, uint64_t seed, uint64_t n)
{
    struct tg_trace_meta *meta = make_meta();
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {.overwrite = true};
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    struct event_sample *sample = event_sample_create(seed);
    for (uint64_t i = 0; i < n; i++)
        tg_trace_writer_add(writer, event_sample_at(sample, i));
    event_sample_destroy(sample);
    struct tg_trace_writer_stats stats;
    assert_fine(tg_trace_writer_close(writer, &stats));
    assert_int_equal(stats.events, n);
    assert_int_equal(stats.lost_events, 0);
    tg_trace_meta_destroy(meta);
}

/* Reads all and compares with the sample from event FIRST on; returns the number of events. */
static uint64_t compare_from(struct tg_trace_reader *reader, uint64_t seed, uint64_t first)
{
    struct event_sample *sample = event_sample_create(seed);
    const struct tg_event *event = NULL;
    uint64_t n = 0;
    for (;; n++) {
        assert_fine(tg_trace_reader_next(reader, &event));
        if (event == NULL)
            break;
        if (!event_equal(event_sample_at(sample, first + n), event))
            fail_msg("event %llu (%s) differs", (unsigned long long)n, tg_event_kind_name(event->kind));
    }
    event_sample_destroy(sample);
    return n;
}

static void every_kind_and_field_comes_back(void **state)
{
    char *path = temporary_path(*state, "trace");
    enum { N = 20000 };
    write_trace(path, 1, N);
    struct tg_trace_reader *reader = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    const struct tg_trace_meta *meta = tg_trace_reader_meta(reader);
    assert_int_equal(tg_trace_meta_count(meta), 3);
    assert_string_equal(tg_trace_meta_get(meta, "command.0"), "./app \xff\n");
    assert_true(tg_trace_meta_get_number(meta, "start.monotonic_ns", 0) == UINT64_MAX);
    struct tg_trace_summary summary = tg_trace_reader_summary(reader);
    assert_true(summary.complete);
    assert_int_equal(summary.events, N);
    assert_int_equal(compare_from(reader, 1, 0), N);
    summary = tg_trace_reader_summary(reader);
    assert_true(summary.complete);
    assert_false(summary.truncated);
    assert_int_equal(summary.events, N);
    tg_trace_reader_close(reader);
    char *incomplete = temporary_path(*state, "trace.incomplete");
    assert_int_not_equal(access(incomplete, F_OK), 0);
    free(incomplete);
    free(path);
}

static void an_empty_trace_is_a_trace(void **state)
{
    char *path = temporary_path(*state, "trace");
    write_trace(path, 1, 0);
    struct tg_trace_reader *reader = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    assert_int_equal(compare_from(reader, 1, 0), 0);
    assert_true(tg_trace_reader_summary(reader).complete);
    tg_trace_reader_close(reader);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_and_field_comes_back, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(an_empty_trace_is_a_trace, make_directory, remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
