/* Reading ahead: what a reader with threads says is what one without says, in the same place. */
#include "format/trace/read_ahead.h"

#include "format/trace/section.h"
#include "tests/support/event_sample.h"
#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"
#include "tests/unit/sanitizer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED = 5, N = 3000, PER_CHUNK = 60, N_CHUNKS = N / PER_CHUNK, THREADS = 3 };

static struct tg_trace_reader *open_ahead(const char *path)
{
    struct tg_trace_reader *reader = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    tg_trace_reader_read_ahead(reader, THREADS);
    return reader;
}

static void expect_equal_summaries(const struct tg_trace_reader *a, const struct tg_trace_reader *b)
{
    struct tg_trace_summary x = tg_trace_reader_summary(a), y = tg_trace_reader_summary(b);
    assert_int_equal(x.complete, y.complete);
    assert_int_equal(x.truncated, y.truncated);
    assert_int_equal(x.damaged_offset, y.damaged_offset);
    assert_int_equal(x.chunks, y.chunks);
    assert_int_equal(x.events, y.events);
    assert_int_equal(x.unknown_events, y.unknown_events);
    assert_int_equal(x.lost_events, y.lost_events);
    assert_int_equal(x.first_time_ns, y.first_time_ns);
    assert_int_equal(x.last_time_ns, y.last_time_ns);
}

/* Both readers on to their ends, which must be the same. Returns the number of events. */
static uint64_t compare(struct tg_trace_reader *plain, struct tg_trace_reader *ahead)
{
    for (uint64_t n = 0;; n++) {
        const struct tg_event *x = NULL, *y = NULL;
        struct tg_error *a = tg_trace_reader_next(plain, &x), *b = tg_trace_reader_next(ahead, &y);
        expect_equal_summaries(plain, ahead);
        assert_int_equal(a == NULL, b == NULL);
        if (a != NULL) {
            assert_int_equal(tg_error_code(a), tg_error_code(b));
            assert_string_equal(tg_error_message(a), tg_error_message(b));
            tg_error_destroy(a);
            tg_error_destroy(b);
            assert_fine(tg_trace_reader_next(ahead, &y));
            assert_null(y);
            return n;
        }
        assert_int_equal(x == NULL, y == NULL);
        if (x == NULL)
            return n;
        assert_true(event_equal(x, y));
        struct tg_trace_bookmark p = tg_trace_reader_tell(plain), q = tg_trace_reader_tell(ahead);
        assert_int_equal(p.offset, q.offset);
        assert_int_equal(p.events, q.events);
    }
}

static uint64_t compare_file(const char *path)
{
    struct tg_trace_reader *plain = NULL, *ahead = open_ahead(path);
    assert_fine(tg_trace_reader_open(path, &plain));
    uint64_t n = compare(plain, ahead);
    tg_trace_reader_close(plain);
    tg_trace_reader_close(ahead);
    return n;
}

static char *write_sample(void **state)
{
    char *path = temporary_path(*state, "trace");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    return path;
}

/* The offset of the section NUMBER. */
static unsigned long find_section(const unsigned char *bytes, unsigned number)
{
    unsigned long at = 0;
    struct tg_section_header header;
    for (unsigned i = 0; i < number; i++) {
        assert_int_equal(tg_section_header_decode(bytes + at, &header), TG_SECTION_FINE);
        at += TG_SECTION_HEADER_BYTES + header.compressed_bytes;
    }
    return at;
}

static void events_come_in_order(void **state)
{
    char *path = write_sample(state);
    assert_int_equal(compare_file(path), N);
    free(path);
}

/* The error comes when all events of the chunks before have come, wherever the damage is. */
static void damage_is_told_in_its_place(void **state)
{
    char *path = write_sample(state);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    for (unsigned chunk = 0; chunk < N_CHUNKS; chunk += IS_SANITIZED ? 9 : 2) {
        unsigned long at = find_section(bytes, chunk + 1); /* behind META */
        const unsigned long places[] = {at + 3, at + 30, at + TG_SECTION_HEADER_BYTES + 7};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            bytes[places[i]] ^= 4;
            temporary_write(path, bytes, size);
            assert_int_equal(compare_file(path), chunk * PER_CHUNK);
            bytes[places[i]] ^= 4;
        }
    }
    free(bytes);
    free(path);
}

static void a_missing_section_is_told_in_its_place(void **state)
{
    enum { MISSING = 20 };
    char *path = write_sample(state);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    unsigned long at = find_section(bytes, MISSING + 1), next = find_section(bytes, MISSING + 2);
    memmove(bytes + at, bytes + next, size - next);
    temporary_write(path, bytes, size - (next - at));
    assert_int_equal(compare_file(path), MISSING * PER_CHUNK);
    free(bytes);
    free(path);
}

static void a_trace_that_is_cut_off_ends_there(void **state)
{
    char *path = write_sample(state);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    for (unsigned long length = find_section(bytes, 1); length < size; length += IS_SANITIZED ? 9973 : 997) {
        temporary_write(path, bytes, length);
        compare_file(path);
    }
    free(bytes);
    free(path);
}

static void a_reader_may_be_closed_at_any_time(void **state)
{
    char *path = write_sample(state);
    for (unsigned n = 0; n < N; n += IS_SANITIZED ? 101 : 17) {
        struct tg_trace_reader *reader = open_ahead(path);
        const struct tg_event *event = NULL;
        for (unsigned i = 0; i < n; i++)
            assert_fine(tg_trace_reader_next(reader, &event));
        tg_trace_reader_close(reader);
    }
    free(path);
}

static void read_some(struct tg_trace_reader *reader, unsigned n)
{
    const struct tg_event *event = NULL;
    for (unsigned i = 0; i < n; i++)
        assert_fine(tg_trace_reader_next(reader, &event));
    assert_non_null(event);
}

static bool is_wanted(const void *context, unsigned kind)
{
    (void)context;
    return kind % 3 == 0;
}

/* Places are left while chunks behind them are being opened. */
static void places_can_be_left(void **state)
{
    char *path = write_sample(state);
    struct tg_trace_reader *plain = NULL, *ahead = open_ahead(path);
    assert_fine(tg_trace_reader_open(path, &plain));
    for (unsigned n = 1; n < N; n = n * 3 / 2 + 7) {
        struct tg_trace_bookmark place = {0};
        read_some(plain, n);
        read_some(ahead, n);
        place = tg_trace_reader_tell(ahead);
        assert_fine(tg_trace_reader_return(plain, &(struct tg_trace_bookmark){0}));
        assert_fine(tg_trace_reader_return(ahead, &(struct tg_trace_bookmark){0}));
        read_some(ahead, N / 2);
        assert_fine(tg_trace_reader_return(plain, &place));
        assert_fine(tg_trace_reader_return(ahead, &place));
        struct tg_error *error = NULL;
        assert_int_equal(trace_fixture_compare(ahead, SEED, n, &error), N - n);
        assert_fine(error);
        assert_int_equal(trace_fixture_compare(plain, SEED, n, &error), N - n);
        assert_fine(tg_trace_reader_seek(plain, 0));
        assert_fine(tg_trace_reader_seek(ahead, 0));
    }
    tg_trace_reader_close(plain);
    tg_trace_reader_close(ahead);
    free(path);
}

static void kinds_can_be_unwanted_on_the_way(void **state)
{
    char *path = write_sample(state);
    struct tg_trace_reader *plain = NULL, *ahead = open_ahead(path);
    assert_fine(tg_trace_reader_open(path, &plain));
    read_some(plain, N / 2);
    read_some(ahead, N / 2);
    tg_trace_reader_want(plain, (struct tg_wanted_kinds){.wants = is_wanted});
    tg_trace_reader_want(ahead, (struct tg_wanted_kinds){.wants = is_wanted});
    assert_in_range(compare(plain, ahead), PER_CHUNK, N / 2 - PER_CHUNK);
    tg_trace_reader_close(plain);
    tg_trace_reader_close(ahead);
    free(path);
}

static void many_readers_may_read_at_once(void **state)
{
    enum { READERS = 8 };
    char *path = write_sample(state);
    struct tg_trace_reader *readers[READERS];
    struct event_sample *sample = event_sample_create(SEED);
    const struct tg_event *event = NULL;
    for (size_t r = 0; r < READERS; r++)
        readers[r] = open_ahead(path);
    for (unsigned i = 0; i < N; i++) {
        const struct tg_event *expected = event_sample_at(sample, i);
        for (size_t r = 0; r < READERS; r++) {
            assert_fine(tg_trace_reader_next(readers[r], &event));
            assert_true(event_equal(expected, event));
        }
    }
    for (size_t r = 0; r < READERS; r++)
        tg_trace_reader_close(readers[r]);
    event_sample_destroy(sample);
    free(path);
}

/* Strings stay while the chunk behind theirs is read, whether threads are there or not. */
static void strings_stay_for_another_chunk(void **state)
{
    char *path = write_sample(state);
    struct tg_trace_reader *reader = open_ahead(path);
    const struct tg_event *event = NULL;
    const char *texts[PER_CHUNK], *kept[PER_CHUNK];
    for (unsigned i = 0; i < N; i++) {
        assert_fine(tg_trace_reader_next(reader, &event));
        unsigned at = i % PER_CHUNK;
        if (at == 0 && i > 0)
            memcpy(kept, texts, sizeof kept);
        texts[at] = event->kind == TG_EVENT_NOTE ? event->note.text : NULL;
        if (at == PER_CHUNK - 1 && i > PER_CHUNK) {
            struct event_sample *sample = event_sample_create(SEED);
            for (unsigned k = 0; k < PER_CHUNK; k++) {
                const struct tg_event *expected = event_sample_at(sample, i - 2 * PER_CHUNK + 1 + k);
                if (kept[k] != NULL)
                    assert_string_equal(kept[k], expected->note.text == NULL ? "" : expected->note.text);
            }
            event_sample_destroy(sample);
        }
    }
    tg_trace_reader_close(reader);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(events_come_in_order),
        trace_test(damage_is_told_in_its_place),
        trace_test(a_missing_section_is_told_in_its_place),
        trace_test(a_trace_that_is_cut_off_ends_there),
        trace_test(a_reader_may_be_closed_at_any_time),
        trace_test(places_can_be_left),
        trace_test(kinds_can_be_unwanted_on_the_way),
        trace_test(many_readers_may_read_at_once),
        trace_test(strings_stay_for_another_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
