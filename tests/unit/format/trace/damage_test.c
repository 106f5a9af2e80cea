/* Traces cut off, damaged and recovered. */
#include "tests/support/trace_fixture.h"

#include "format/trace/file.h"
#include "format/trace/recovery.h"
#include "format/trace/section.h"
#include "format/trace/section_codec.h"
#include "format/trace/writer.h"
#include "tests/support/event_sample.h"
#include "tests/support/temporary.h"
#include "tests/unit/sanitizer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED = 9, N = 150, PER_CHUNK = 50, MAX_SECTIONS = 16 };

struct sections {
    unsigned long at[MAX_SECTIONS]; /* offsets; the last one is the trailer's */
    unsigned kind[MAX_SECTIONS];
    size_t count; /* without the trailer */
};

static struct sections find_sections(const unsigned char *bytes)
{
    struct sections sections = {0};
    struct tg_section_header header;
    unsigned long at = 0;
    while (tg_section_header_decode(bytes + at, &header) == TG_SECTION_FINE) {
        sections.at[sections.count] = at;
        sections.kind[sections.count++] = header.kind;
        at += TG_SECTION_HEADER_BYTES + header.compressed_bytes;
    }
    sections.at[sections.count] = at;
    return sections;
}

/* Events in whole sections of the first SIZE bytes. */
static uint64_t events_before(const struct sections *sections, unsigned long size)
{
    uint64_t events = 0;
    for (size_t i = 0; i < sections->count; i++)
        if (sections->kind[i] == TG_SECTION_EVENTS && sections->at[i + 1] <= size)
            events += PER_CHUNK;
    return events;
}

static void a_trace_may_end_at_any_byte(void **state)
{
    char *path = temporary_path(*state, "trace"), *cut = temporary_path(*state, "cut");
    char *clean = temporary_path(*state, "clean");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    struct sections sections = find_sections(bytes);
    assert_int_equal(sections.count, 6);
    const unsigned long step = IS_SANITIZED ? 7 : 1; /* to the whole of it */
    for (unsigned long length = 1 + (size - 1) % step; length <= size; length += step) {
        temporary_write(cut, bytes, length);
        struct tg_trace_reader *reader = NULL;
        struct tg_error *error = NULL;
        assert_fine(tg_trace_reader_open(cut, &reader));
        assert_int_equal(trace_fixture_compare(reader, SEED, 0, &error), events_before(&sections, length));
        assert_fine(error);
        struct tg_trace_summary summary = tg_trace_reader_summary(reader);
        assert_int_equal(summary.complete, length == size);
        bool boundary = length == size;
        for (size_t i = 1; i <= sections.count; i++)
            boundary |= length == sections.at[i];
        assert_int_equal(summary.truncated, !boundary);
        tg_trace_reader_close(reader);
        if (length % 61 != 0 || length < sections.at[1])
            continue;
        struct tg_recovery recovery = {0};
        assert_fine(tg_trace_recover(cut, clean, true, NULL, &recovery));
        assert_int_equal(recovery.events, events_before(&sections, length));
        assert_int_equal(recovery.was_whole, length == size);
        tg_recovery_deinit(&recovery);
    }
    free(bytes);
    free(clean);
    free(cut);
    free(path);
}

static void zeros_behind_the_end_are_an_end(void **state)
{
    char *path = temporary_path(*state, "trace");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    struct sections sections = find_sections(bytes);
    for (unsigned long zeros = 1; zeros < 100000; zeros = zeros * 3 + 7) {
        assert_int_equal(truncate(path, (off_t)sections.at[3]), 0);
        assert_int_equal(truncate(path, (off_t)(sections.at[3] + zeros)), 0);
        struct tg_trace_reader *reader = NULL;
        struct tg_error *error = NULL;
        assert_fine(tg_trace_reader_open(path, &reader));
        assert_int_equal(trace_fixture_compare(reader, SEED, 0, &error), 2 * PER_CHUNK);
        assert_fine(error);
        assert_true(tg_trace_reader_summary(reader).truncated);
        assert_int_equal(tg_trace_reader_summary(reader).damaged_offset, sections.at[3]);
        tg_trace_reader_close(reader);
    }
    free(bytes);
    free(path);
}

static void every_flipped_bit_is_found(void **state)
{
    char *path = temporary_path(*state, "trace");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    struct sections sections = find_sections(bytes);
    for (unsigned long at = 0; at < size; at += IS_SANITIZED ? 7 : 1) {
        bytes[at] ^= (unsigned char)(1u << at % 8);
        temporary_write(path, bytes, size);
        struct tg_trace_reader *reader = NULL;
        struct tg_error *error = tg_trace_reader_open(path, &reader);
        uint64_t events = 0;
        if (error == NULL)
            events = trace_fixture_compare(reader, SEED, 0, &error);
        uint64_t expected = 0; /* the events of the chunks before */
        for (size_t i = 0; i < sections.count; i++)
            if (sections.kind[i] == TG_SECTION_EVENTS && sections.at[i + 1] <= at)
                expected += PER_CHUNK;
        if (error == NULL)
            fail_msg("bit %lu of byte %lu: not found", at % 8, at);
        enum tg_error_code code = tg_error_code(error);
        assert_true(code == TG_ERROR_INPUT || code == TG_ERROR_UNSUPPORTED);
        assert_non_null(strstr(tg_error_message(error), path));
        assert_int_equal(events, expected);
        assert_true(reader == NULL || !tg_trace_reader_summary(reader).complete);
        tg_error_destroy(error);
        tg_trace_reader_close(reader);
        bytes[at] ^= (unsigned char)(1u << at % 8);
    }
    free(bytes);
    free(path);
}

/* Recovers PATH to CLEAN and counts the clean trace's events that are no loss events; their count goes to
 * LOSSES. */
static uint64_t recover_and_count(const char *path, const char *clean, struct tg_recovery *recovery,
                                  uint64_t *losses)
{
    assert_fine(tg_trace_recover(path, clean, true, NULL, recovery));
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *event = NULL;
    uint64_t events = 0;
    *losses = 0;
    assert_fine(tg_trace_reader_open(clean, &reader));
    for (;;) {
        assert_fine(tg_trace_reader_next(reader, &event));
        if (event == NULL)
            break;
        bool ours = event->kind == TG_EVENT_LOSS && event->pid == 0 &&
                    strstr(event->loss.reason, "trace were") != NULL;
        *losses += ours;
        events += !ours;
    }
    assert_true(tg_trace_reader_summary(reader).complete);
    tg_trace_reader_close(reader);
    return events;
}

static void recovery_goes_on_behind_damage(void **state)
{
    char *path = temporary_path(*state, "trace"), *clean = temporary_path(*state, "clean");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    struct sections sections = find_sections(bytes);
    unsigned long begin = sections.at[2], end = sections.at[3]; /* the middle one of three chunks */
    for (unsigned long at = begin; at < end; at += 13) {
        bytes[at] ^= 0x20;
        temporary_write(path, bytes, size);
        bytes[at] ^= 0x20;
        struct tg_recovery recovery = {0};
        uint64_t losses = 0;
        assert_int_equal(recover_and_count(path, clean, &recovery, &losses), N - PER_CHUNK);
        assert_int_equal(losses, 1);
        assert_int_equal(recovery.n_gaps, 1);
        assert_int_equal(recovery.gaps[0].offset, begin);
        assert_int_equal(recovery.gaps[0].size_bytes, end - begin);
        assert_int_equal(recovery.gaps[0].sections, 1);
        assert_int_equal(recovery.gaps[0].events, at < begin + TG_SECTION_HEADER_BYTES ? 0 : PER_CHUNK);
        assert_true(recovery.gaps[0].has_after_ns && recovery.gaps[0].has_before_ns);
        assert_false(recovery.was_whole);
        assert_true(recovery.has_index);
        tg_recovery_deinit(&recovery);
    }
    free(bytes);
    free(clean);
    free(path);
}

static void a_section_taken_out_is_missed(void **state)
{
    char *path = temporary_path(*state, "trace"), *clean = temporary_path(*state, "clean");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    struct sections sections = find_sections(bytes);
    memmove(bytes + sections.at[2], bytes + sections.at[3], size - sections.at[3]);
    temporary_write(path, bytes, size - (sections.at[3] - sections.at[2]));
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    assert_int_equal(trace_fixture_compare(reader, SEED, 0, &error), PER_CHUNK);
    expect_error(error, TG_ERROR_INPUT, "sections are missing");
    tg_trace_reader_close(reader);
    struct tg_recovery recovery = {0};
    uint64_t losses = 0;
    assert_int_equal(recover_and_count(path, clean, &recovery, &losses), N - PER_CHUNK);
    assert_int_equal(losses, 1);
    assert_int_equal(recovery.n_gaps, 1);
    assert_int_equal(recovery.gaps[0].size_bytes, 0);
    assert_int_equal(recovery.gaps[0].sections, 1);
    tg_recovery_deinit(&recovery);
    free(bytes);
    free(clean);
    free(path);
}

static void recovery_overwrites_nothing_unasked(void **state)
{
    char *path = temporary_path(*state, "trace"), *clean = temporary_path(*state, "clean");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    temporary_write(clean, "precious", 8);
    struct tg_recovery recovery = {0};
    expect_error(tg_trace_recover(path, clean, false, NULL, &recovery), TG_ERROR_EXISTS, clean);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(clean, &size);
    assert_memory_equal(bytes, "precious", 8);
    free(bytes);
    expect_error(tg_trace_recover(path, path, false, NULL, &recovery), TG_ERROR_EXISTS, path);
    assert_fine(tg_trace_recover(path, path, true, NULL, &recovery)); /* in place, since it was asked for */
    assert_true(recovery.was_whole);
    assert_int_equal(recovery.events, N);
    tg_recovery_deinit(&recovery);
    assert_int_equal(unlink(clean), 0);
    assert_fine(tg_trace_recover(path, NULL, false, NULL, &recovery)); /* only looks */
    assert_int_equal(access(clean, F_OK), -1);
    tg_recovery_deinit(&recovery);
    temporary_write(
        clean, "no trace at all, but long enough to be looked through for one: nothing is whole here", 84);
    expect_error(tg_trace_recover(clean, NULL, false, NULL, &recovery), TG_ERROR_INPUT,
                 "not a tollgate trace");
    tg_recovery_deinit(&recovery);
    free(clean);
    free(path);
}

static void a_lost_head_does_not_lose_the_events(void **state)
{
    char *path = temporary_path(*state, "trace"), *clean = temporary_path(*state, "clean");
    trace_fixture_write(path, SEED, N, PER_CHUNK);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    memset(bytes, 0xee, 80);
    temporary_write(path, bytes, size);
    struct tg_recovery recovery = {0};
    uint64_t losses = 0;
    assert_int_equal(recover_and_count(path, clean, &recovery, &losses), N);
    assert_true(recovery.meta_lost);
    assert_int_equal(losses, 1);
    tg_recovery_deinit(&recovery);
    free(bytes);
    free(clean);
    free(path);
}

/* A command line of N arguments "a", and a note of a whole mebibyte. */
static void write_arguments(const char *path, size_t n)
{
    struct tg_string_item *items = calloc(n, sizeof *items);
    char *text = malloc(TG_STRING_MAX_BYTES + 1);
    struct tg_trace_meta *meta = trace_fixture_meta();
    const struct tg_trace_writer_options options = {.flush_interval_ms = 1000000};
    struct tg_trace_writer *writer = NULL;
    assert_true(items != NULL && text != NULL);
    for (size_t i = 0; i < n; i++)
        items[i].text = "a";
    memset(text, 'b', TG_STRING_MAX_BYTES);
    text[TG_STRING_MAX_BYTES] = '\0';
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    tg_trace_writer_add(
        writer, &(struct tg_event){.kind = TG_EVENT_COMMAND_LINE, .command_line = {.arguments = {items, n}}});
    tg_trace_writer_add(writer, &(struct tg_event){.kind = TG_EVENT_NOTE, .note = {.text = text}});
    assert_fine(tg_trace_writer_close(writer, NULL));
    tg_trace_meta_destroy(meta);
    free(text);
    free(items);
}

/* Writes the trace at PATH anew with its two strings exchanged: all arguments are the long one. */
static void exchange_strings(const char *path, const char *to)
{
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    struct sections sections = find_sections(bytes);
    struct tg_section_header header;
    struct tg_section_codec *codec = NULL;
    struct tg_byte_buffer raw = {0}, section = {0};
    assert_int_equal(sections.kind[1], TG_SECTION_EVENTS);
    assert_int_equal(tg_section_header_decode(bytes + sections.at[1], &header), TG_SECTION_FINE);
    assert_fine(tg_section_codec_create(0, &codec));
    assert_fine(
        tg_section_codec_unpack(codec, &header, bytes + sections.at[1] + TG_SECTION_HEADER_BYTES, &raw));
    unsigned char *table = memmem(raw.data, raw.size, "a\0bbbb", 6);
    assert_non_null(table);
    memmove(table, table + 2, TG_STRING_MAX_BYTES + 1);
    memcpy(table + TG_STRING_MAX_BYTES + 1, "a", 2);
    assert_fine(tg_section_codec_pack(codec, &header, &raw, NULL, &section));
    memcpy(bytes + sections.at[1], section.data,
           section.size); /* no longer than it was, but for some bytes */
    temporary_write(to, bytes, sections.at[1] + section.size);
    tg_section_codec_destroy(codec);
    tg_byte_buffer_deinit(&raw);
    tg_byte_buffer_deinit(&section);
    free(bytes);
}

static void few_bytes_are_not_gigabytes_of_text(void **state)
{
    char *path = temporary_path(*state, "trace"), *bomb = temporary_path(*state, "bomb");
    static const size_t numbers[] = {16, 17, 100000};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct tg_trace_reader *reader = NULL;
        const struct tg_event *event = NULL;
        write_arguments(path, numbers[i]);
        exchange_strings(path, bomb);
        assert_int_equal(unlink(path), 0);
        assert_fine(tg_trace_reader_open(bomb, &reader));
        if (numbers[i] == 16) {
            assert_fine(tg_trace_reader_next(reader, &event));
            assert_int_equal(event->command_line.arguments.count, 16);
        } else {
            expect_error(tg_trace_reader_next(reader, &event), TG_ERROR_INPUT, "text");
        }
        tg_trace_reader_close(reader);
    }
    free(bomb);
    free(path);
}

static void few_bytes_are_not_billions_of_events(void **state)
{
    (void)state;
    assert_true(tg_trace_may_hold(1 << 20, 120)); /* a chunk of a test, all events alike */
    assert_true(tg_trace_may_hold(100000000, 3000000));
    assert_false(tg_trace_may_hold(UINT64_C(3100000000), 480000));
    assert_false(tg_trace_may_hold(UINT64_MAX, 1 << 30));
}

static void impossible_losses_are_unknown(void **state)
{
    (void)state;
    assert_int_equal(tg_loss_count(0), 0);
    assert_int_equal(tg_loss_count(UINT64_C(5000000000)), 5000000000);
    assert_int_equal(tg_loss_count(UINT64_MAX - 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(a_trace_may_end_at_any_byte),          trace_test(zeros_behind_the_end_are_an_end),
        trace_test(every_flipped_bit_is_found),           trace_test(recovery_goes_on_behind_damage),
        trace_test(a_section_taken_out_is_missed),        trace_test(recovery_overwrites_nothing_unasked),
        trace_test(a_lost_head_does_not_lose_the_events), trace_test(few_bytes_are_not_gigabytes_of_text),
        trace_test(few_bytes_are_not_billions_of_events), trace_test(impossible_losses_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
