/* The writer when things go wrong. */
#include "tests/support/trace_fixture.h"

#include "format/trace/writer.h"
#include "tests/support/event_sample.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct tg_trace_writer *open_writer(const char *path, struct tg_trace_writer_options options)
{
    struct tg_trace_meta *meta = trace_fixture_meta();
    struct tg_trace_writer *writer = NULL;
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    tg_trace_meta_destroy(meta);
    return writer;
}

static void expect_no_writer(const char *path, bool overwrite, enum tg_error_code code, const char *text)
{
    struct tg_trace_meta *meta = trace_fixture_meta();
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {.overwrite = overwrite};
    expect_error(tg_trace_writer_create(path, &options, meta, &writer), code, text);
    assert_null(writer);
    tg_trace_meta_destroy(meta);
}

static void add_samples(struct tg_trace_writer *writer, uint64_t first, uint64_t n)
{
    struct event_sample *sample = event_sample_create(1);
    for (uint64_t i = first; i < first + n; i++)
        tg_trace_writer_add(writer, event_sample_at(sample, i));
    event_sample_destroy(sample);
}

/* Waits until the writer has written more than BYTES, or failed. */
static void wait_for_bytes(struct tg_trace_writer *writer, uint64_t bytes)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 20000 && tg_trace_writer_stats(writer).written_bytes <= bytes; i++)
        nanosleep(&pause, NULL);
    assert_true(tg_trace_writer_stats(writer).written_bytes > bytes);
}

static struct tg_error *wait_for_error(struct tg_trace_writer *writer)
{
    struct timespec pause = {.tv_nsec = 1000000};
    struct tg_error *error = NULL;
    for (int i = 0; i < 20000 && error == NULL; i++) {
        error = tg_trace_writer_take_error(writer);
        if (error == NULL)
            nanosleep(&pause, NULL);
    }
    return error;
}

static uint64_t count_events(const char *path, struct tg_trace_summary *summary, uint64_t *lost)
{
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *event = NULL;
    uint64_t n = 0;
    *lost = 0;
    assert_fine(tg_trace_reader_open(path, &reader));
    for (;; n++) {
        assert_fine(tg_trace_reader_next(reader, &event));
        if (event == NULL)
            break;
        if (event->kind == TG_EVENT_LOSS && event->pid == 0 && event->stop_ns == 0)
            *lost += event->loss.count;
    }
    *summary = tg_trace_reader_summary(reader);
    tg_trace_reader_close(reader);
    return n;
}

static void events_are_on_disk_soon(void **state)
{
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    struct tg_trace_writer *writer =
        open_writer(path, (struct tg_trace_writer_options){.flush_interval_ms = 20});
    uint64_t before = tg_trace_writer_stats(writer).written_bytes;
    add_samples(writer, 0, 7);
    wait_for_bytes(writer, before);
    struct tg_trace_summary summary;
    uint64_t lost;
    assert_int_equal(count_events(incomplete, &summary, &lost), 7);
    assert_false(summary.complete);
    assert_false(summary.truncated);
    struct stat status;
    assert_int_equal(stat(incomplete, &status), 0);
    assert_int_equal(status.st_mode & 077, 0); /* nobody else reads it */
    tg_trace_writer_destroy(writer);
    assert_int_equal(access(incomplete, F_OK), 0);
    assert_int_equal(access(path, F_OK), -1);
    free(incomplete);
    free(path);
}

static void nothing_existing_is_overwritten_unasked(void **state)
{
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    struct tg_trace_summary summary;
    uint64_t lost;
    temporary_write(path, "precious", 8);
    expect_no_writer(path, false, TG_ERROR_EXISTS, path);
    assert_int_equal(access(incomplete, F_OK), -1);
    assert_int_equal(unlink(path), 0);
    temporary_write(incomplete, "precious", 8);
    expect_no_writer(path, false, TG_ERROR_EXISTS, incomplete);
    assert_int_equal(unlink(incomplete), 0);

    /* One that appears meanwhile stays, and the trace too. */
    struct tg_trace_writer *writer = open_writer(path, (struct tg_trace_writer_options){0});
    add_samples(writer, 0, 10);
    temporary_write(path, "precious", 8);
    expect_error(tg_trace_writer_close(writer, NULL), TG_ERROR_EXISTS, incomplete);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    assert_int_equal(size, 8);
    free(bytes);
    assert_int_equal(count_events(incomplete, &summary, &lost), 10);
    assert_true(summary.complete);

    writer = open_writer(path, (struct tg_trace_writer_options){.overwrite = true});
    add_samples(writer, 0, 11);
    assert_fine(tg_trace_writer_close(writer, NULL));
    assert_int_equal(count_events(path, &summary, &lost), 11);
    free(incomplete);
    free(path);
}

static void bad_places_are_told_at_once(void **state)
{
    char *path = temporary_path(*state, "missing/trace");
    expect_no_writer(path, false, TG_ERROR_OS, "No such file or directory");
    free(path);
    path = temporary_path(*state, "");
    expect_no_writer(path, false, TG_ERROR_USAGE, "invalid name");
    free(path);
}

/* No more bytes than LIMIT may be written into a file by this process: a full disk without one. */
static void limit_file_size(uint64_t limit)
{
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &now), 0);
    now.rlim_cur = limit == UINT64_MAX ? now.rlim_max : limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

static void a_full_disk_stops_the_trace_not_the_program(void **state)
{
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    struct tg_trace_writer *writer =
        open_writer(path, (struct tg_trace_writer_options){.flush_interval_ms = 10});
    uint64_t before = tg_trace_writer_stats(writer).written_bytes;
    add_samples(writer, 0, 25);
    wait_for_bytes(writer, before);
    uint64_t whole = tg_trace_writer_stats(writer).written_bytes;
    limit_file_size(whole + 100); /* in the middle of the next section */
    add_samples(writer, 25, 500);
    expect_error(wait_for_error(writer), TG_ERROR_OS, "File too large");
    assert_null(tg_trace_writer_take_error(writer));
    add_samples(writer, 525, 100);
    struct tg_trace_writer_stats stats;
    assert_fine(tg_trace_writer_close(writer, &stats)); /* the error was taken */
    limit_file_size(UINT64_MAX);
    assert_int_equal(stats.events, 25);
    assert_int_equal(stats.lost_events, 600);
    struct tg_trace_summary summary;
    uint64_t lost;
    assert_int_equal(count_events(incomplete, &summary, &lost), 25);
    assert_false(summary.truncated); /* the part of the section that was written is gone */
    assert_false(summary.complete);
    assert_int_equal(access(path, F_OK), -1);
    free(incomplete);
    free(path);
}

static void an_error_not_taken_comes_back_at_close(void **state)
{
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    struct tg_trace_writer *writer = open_writer(path, (struct tg_trace_writer_options){0});
    limit_file_size(tg_trace_writer_stats(writer).written_bytes);
    add_samples(writer, 0, 10);
    struct tg_trace_writer_stats stats;
    expect_error(tg_trace_writer_close(writer, &stats), TG_ERROR_OS, incomplete);
    limit_file_size(UINT64_MAX);
    assert_int_equal(stats.lost_events, 10);
    free(incomplete);
    free(path);
}

static void room_that_comes_back_is_used_to_say_what_is_missing(void **state)
{
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    struct tg_trace_writer *writer =
        open_writer(path, (struct tg_trace_writer_options){.flush_interval_ms = 10});
    limit_file_size(tg_trace_writer_stats(writer).written_bytes);
    struct tg_event event = {.kind = TG_EVENT_ENTRY, .pid = 5, .tid = 5, .time_ns = 9};
    tg_trace_writer_add(writer, &event);
    expect_error(wait_for_error(writer), TG_ERROR_OS, "cannot write");
    limit_file_size(UINT64_MAX);
    assert_fine(tg_trace_writer_close(writer, NULL));
    struct tg_trace_summary summary;
    uint64_t lost;
    assert_int_equal(count_events(incomplete, &summary, &lost), 1);
    assert_int_equal(lost, 1);
    free(incomplete);
    free(path);
}

static void a_file_taken_away_is_told(void **state)
{
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    struct tg_trace_writer *writer =
        open_writer(path, (struct tg_trace_writer_options){.flush_interval_ms = 10});
    assert_int_equal(unlink(incomplete), 0);
    add_samples(writer, 0, 10);
    expect_error(wait_for_error(writer), TG_ERROR_OS, "was deleted");
    assert_fine(tg_trace_writer_close(writer, NULL));
    assert_int_equal(access(path, F_OK), -1);
    free(incomplete);
    free(path);
}

static void a_queue_that_is_full_loses_events_and_says_so(void **state)
{
    enum { N = 600000 };
    char *path = temporary_path(*state, "trace");
    struct tg_trace_writer *writer =
        open_writer(path, (struct tg_trace_writer_options){.max_queue_bytes = 1, .compression_level = 19});
    struct tg_event event = {.kind = TG_EVENT_SIGNAL, .pid = 5, .tid = 5, .stop_ns = 1};
    uint64_t state_of_draw = 1;
    for (int i = 0; i < N; i++) {
        state_of_draw = state_of_draw * UINT64_C(6364136223846793005) + 1;
        event.time_ns = (uint64_t)i;
        event.signal.address = state_of_draw; /* does not compress: level 19 takes its time */
        tg_trace_writer_add(writer, &event);
    }
    struct tg_trace_writer_stats stats;
    assert_fine(tg_trace_writer_close(writer, &stats));
    assert_true(stats.lost_events > 0);
    struct tg_trace_summary summary;
    uint64_t lost, n = count_events(path, &summary, &lost);
    assert_int_equal(n, stats.events);
    assert_int_equal(lost, stats.lost_events); /* loss events account for every one */
    assert_int_equal(summary.lost_events, stats.lost_events);
    assert_true(n + lost > N); /* and the loss events themselves */
    free(path);
}

static void what_is_beyond_the_limits_is_lost_and_said(void **state)
{
    char *path = temporary_path(*state, "trace");
    struct tg_trace_writer *writer = open_writer(path, (struct tg_trace_writer_options){0});
    size_t limit = 1 << 20;
    char *text = calloc(limit + 2, 1);
    memset(text, 'x', limit);
    struct tg_event event = {.kind = TG_EVENT_NOTE, .time_ns = 1};
    event.note.text = text;
    tg_trace_writer_add(writer, &event); /* just fits */
    text[limit] = 'x';
    tg_trace_writer_add(writer, &event);
    static const struct tg_string_item item = {"x"};
    event.kind = TG_EVENT_COMMAND_LINE;
    event.command_line.arguments = (struct tg_list){&item, UINT64_MAX};
    tg_trace_writer_add(writer, &event);
    event.kind = (enum tg_event_kind)0x7f7f;
    tg_trace_writer_add(writer, &event);
    struct tg_trace_writer_stats stats;
    assert_fine(tg_trace_writer_close(writer, &stats));
    assert_int_equal(stats.lost_events, 3);
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *read = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    assert_fine(tg_trace_reader_next(reader, &read));
    assert_int_equal(strlen(read->note.text), limit);
    assert_fine(tg_trace_reader_next(reader, &read));
    assert_int_equal(read->kind, TG_EVENT_LOSS);
    assert_int_equal(read->loss.source, TG_LOSS_LIMIT);
    uint64_t lost = read->loss.count;
    assert_fine(tg_trace_reader_next(reader, &read));
    assert_true(lost <= 3);
    while (read != NULL) {
        lost += read->loss.count;
        assert_fine(tg_trace_reader_next(reader, &read));
    }
    assert_int_equal(lost, 3);
    tg_trace_reader_close(reader);
    free(text);
    free(path);
}

static void a_killed_writer_leaves_what_it_wrote(void **state)
{
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    for (int round = 0; round < 5; round++) {
        unlink(incomplete);
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct tg_trace_writer *writer =
                open_writer(path, (struct tg_trace_writer_options){.flush_interval_ms = 1});
            struct event_sample *sample = event_sample_create(1);
            for (uint64_t i = 0;; i++) {
                tg_trace_writer_add(writer, event_sample_at(sample, i));
                if (i % 1000 == 0 && tg_trace_writer_stats(writer).written_bytes > 100000)
                    assert_true(write(ends[1], "x", 1) == 1);
            }
        }
        char byte;
        close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        close(ends[0]);
        struct tg_trace_reader *reader = NULL;
        struct tg_error *error = NULL;
        assert_fine(tg_trace_reader_open(incomplete, &reader));
        assert_true(trace_fixture_compare(reader, 1, 0, &error) > 1000);
        assert_fine(error);
        assert_false(tg_trace_reader_summary(reader).complete);
        tg_trace_reader_close(reader);
    }
    free(incomplete);
    free(path);
}

static void forking_while_it_writes_is_harmless(void **state)
{
    char *path = temporary_path(*state, "trace");
    struct tg_trace_writer *writer =
        open_writer(path, (struct tg_trace_writer_options){.flush_interval_ms = 1});
    for (uint64_t i = 0; i < 50; i++) {
        add_samples(writer, i * 100, 100);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(0);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    assert_fine(tg_trace_writer_close(writer, NULL));
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    assert_int_equal(trace_fixture_compare(reader, 1, 0, &error), 5000);
    assert_fine(error);
    tg_trace_reader_close(reader);
    free(path);
}

static void a_changed_directory_does_not_move_the_trace(void **state)
{
    struct temporary *temporary = *state;
    char *path = temporary_path(temporary, "trace");
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(temporary->directory), 0);
    struct tg_trace_writer *writer = open_writer("trace", (struct tg_trace_writer_options){0});
    assert_int_equal(chdir("/"), 0);
    add_samples(writer, 0, 3);
    assert_fine(tg_trace_writer_close(writer, NULL));
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(fchdir(here), 0);
    close(here);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(events_are_on_disk_soon),
        trace_test(nothing_existing_is_overwritten_unasked),
        trace_test(bad_places_are_told_at_once),
        trace_test(a_full_disk_stops_the_trace_not_the_program),
        trace_test(an_error_not_taken_comes_back_at_close),
        trace_test(room_that_comes_back_is_used_to_say_what_is_missing),
        trace_test(a_file_taken_away_is_told),
        trace_test(a_queue_that_is_full_loses_events_and_says_so),
        trace_test(what_is_beyond_the_limits_is_lost_and_said),
        trace_test(a_killed_writer_leaves_what_it_wrote),
        trace_test(forking_while_it_writes_is_harmless),
        trace_test(a_changed_directory_does_not_move_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
