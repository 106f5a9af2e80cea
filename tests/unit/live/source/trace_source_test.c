/* However the console came to a place of a trace, what it says there is what a fresh reading says. */
#include "format/trace/writer.h"
#include "live/commands/table.h"
#include "live/console/console.h"
#include "live/console/eval.h"
#include "live/source/interrupt.h"
#include "live/source/trace_source.h"
#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"
#include "tests/unit/sanitizer.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_EVENTS = 3000, N_PROCESSES = 3, N_THREADS = 4 };

static uint64_t random_state;

static uint64_t below(uint64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % limit;
}

/* Any of the kinds that the models keep something of, in an order that need not make sense. */
static struct tg_event make_event(uint64_t i)
{
    static const enum tg_event_kind kinds[] = {
        TG_EVENT_OMP_PARALLEL_BEGIN,
        TG_EVENT_OMP_PARALLEL_END,
        TG_EVENT_OMP_IMPLICIT_BEGIN,
        TG_EVENT_OMP_IMPLICIT_END,
        TG_EVENT_OMP_ZONE_BEGIN,
        TG_EVENT_OMP_ZONE_END,
        TG_EVENT_OMP_SYNC_BEGIN,
        TG_EVENT_OMP_SYNC_END,
        TG_EVENT_OMP_MUTEX_WAIT,
        TG_EVENT_OMP_MUTEX_ENTER,
        TG_EVENT_OMP_MUTEX_LEAVE,
        TG_EVENT_OMP_TASK_BEGIN,
        TG_EVENT_MPI_ENTER,
        TG_EVENT_MPI_LEAVE,
        TG_EVENT_LIBRARY_LOAD,
        TG_EVENT_IDENTITY,
        TG_EVENT_EXEC,
        TG_EVENT_SIGNAL,
    };
    static const char *const calls[] = {"MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Isend", "MPI_Bcast"};
    static const char *const paths[] = {"/lib/liba.so", "/lib/libb.so", "/home/u/libc.so"};
    static struct tg_library library;
    uint64_t process = below(N_PROCESSES), thread = below(N_THREADS);
    struct tg_event event = {.time_ns = 1000 + i * 10 - below(30), /* now and then back in time */
                             .pid = (int32_t)(100 + process * 10),
                             .tid = (int32_t)(100 + process * 10 + thread),
                             .kind = kinds[below(sizeof kinds / sizeof *kinds)]};
    uint64_t *numbers = TG_EVENT_PAYLOAD(&event);
    switch ((unsigned)event.kind) {
    case TG_EVENT_MPI_ENTER:
        event.mpi_enter = (struct tg_event_mpi_enter){.call = calls[below(5)],
                                                      .comm = 1,
                                                      .instance = below(20),
                                                      .peer = (int64_t)below(3),
                                                      .tag = 5,
                                                      .root = -3};
        break;
    case TG_EVENT_MPI_LEAVE:
        event.mpi_leave = (struct tg_event_mpi_leave){.call = calls[below(5)], .request = below(4)};
        break;
    case TG_EVENT_LIBRARY_LOAD:
        library = (struct tg_library){.path = paths[below(3)], .build_id = "", .base = below(9) << 20};
        event.library_load.libraries = (struct tg_list){&library, 1};
        break;
    case TG_EVENT_IDENTITY:
        event.identity = (struct tg_event_identity){
            .host = "h", .job = "j", .source = "s", .rank = (int64_t)process, .size = N_PROCESSES};
        break;
    case TG_EVENT_EXEC:
        if (below(20) != 0) /* rarely: it ends what a program was in */
            event.kind = TG_EVENT_THREAD_START;
        else
            event.exec.path = paths[0];
        break;
    case TG_EVENT_SIGNAL:
        event.signal.signal = 11;
        break;
    default: /* OpenMP: small numbers in the fields */
        for (size_t j = 0; j < tg_event_schema(event.kind)->n_fields; j++)
            if (tg_event_schema(event.kind)->fields[j].type != TG_FIELD_LIST)
                numbers[j] = below(4);
        break;
    }
    return event;
}

static void write_trace(const char *path, uint64_t seed, uint64_t n)
{
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    const struct tg_trace_writer_options options = {.overwrite = true};
    random_state = seed;
    assert_fine(tg_trace_meta_create(&meta));
    assert_fine(tg_trace_meta_set_number(meta, "start.monotonic_ns", 900));
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    for (uint64_t i = 0; i < n; i++) {
        struct tg_event event = make_event(i);
        tg_trace_writer_add(writer, &event);
    }
    assert_fine(tg_trace_writer_close(writer, NULL));
    tg_trace_meta_destroy(meta);
}

/* Everything that the console says of where SOURCE is. */
static char *describe(struct tg_source *source)
{
    static const char script[] = "info event\ninfo event -dict\ninfo workers\ninfo workers -list\n"
                                 "info barrier\ninfo barrier -list\ninfo mpi\ninfo mpir\ninfo processes\n"
                                 "info libraries\nwhere\n";
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const struct tg_console_options options = {.out = out, .errors = out, .table = &tg_command_table};
    struct tg_console *console = NULL;
    assert_fine(tg_console_create(source, &options, &console));
    const struct tg_console_place place = {.name = "test", .line = 1};
    if (!tg_console_eval(console, script, TG_PRINT_ALL, &place)) {
        fflush(out);
        fail_msg("%s", text);
    }
    tg_console_destroy(console);
    fclose(out);
    return text;
}

static void go(struct tg_source *source, struct tg_target target)
{
    assert_fine(source->ops->seek(source, &target));
}

/* A source that steps from the start. */
static struct tg_source *open_at(const char *path, uint64_t number, uint64_t distance)
{
    const struct tg_trace_source_options options = {.checkpoint_distance = distance};
    struct tg_source *source = NULL;
    assert_fine(tg_trace_source_create(path, &options, &source));
    while (source->number < number) {
        bool at_end = false;
        assert_fine(source->ops->step(source, &at_end));
        assert_false(at_end);
    }
    return source;
}

static void expect_as_fresh(const char *path, struct tg_source *source)
{
    struct tg_source *fresh = open_at(path, source->number, 0);
    fresh->n_events = source->n_events;
    char *is = describe(source), *expected = describe(fresh);
    assert_string_equal(is, expected);
    assert_int_equal(source->time_ns, fresh->time_ns);
    free(is);
    free(expected);
    tg_source_destroy(fresh);
}

/* With checkpoints so close that there are many, and thinned out again and again. */
static void jump(void **state, uint64_t distance)
{
    const struct tg_trace_source_options options = {.checkpoint_distance = distance};
    char *path = temporary_path(*state, "trace.tgt");
    write_trace(path, 1, N_EVENTS);
    struct tg_source *source = NULL;
    assert_fine(tg_trace_source_create(path, &options, &source));
    assert_int_equal(source->n_events, N_EVENTS);
    assert_int_equal(source->start_ns, 900);
    random_state = 2;
    for (int i = 0; i < (IS_SANITIZED ? 5 : 30); i++) {
        uint64_t number = below(N_EVENTS + 20);
        go(source, (struct tg_target){.kind = TG_TO_EVENT, .number = number});
        assert_int_equal(source->number, number < N_EVENTS ? number : N_EVENTS);
        expect_as_fresh(path, source);
    }
    tg_source_destroy(source);
    free(path);
}

static void jumps_give_what_reading_gives(void **state)
{
    jump(state, 0);
    jump(state, 32);
    jump(state, 100);
    jump(state, 1000);
}

static void small_steps_give_what_reading_gives(void **state)
{
    char *path = temporary_path(*state, "trace.tgt");
    write_trace(path, 3, N_EVENTS);
    struct tg_source *source = open_at(path, N_EVENTS / 2, 64);
    random_state = 4;
    for (int i = 0; i < (IS_SANITIZED ? 10 : 30); i++) {
        uint64_t number = source->number + below(9) - 5;
        go(source, (struct tg_target){.kind = TG_TO_EVENT, .number = number});
        assert_int_equal(source->number, number);
        expect_as_fresh(path, source);
    }
    tg_source_destroy(source);
    free(path);
}

/* Before the first event that is later, although times go back now and then. */
static void a_time_is_one_place(void **state)
{
    char *path = temporary_path(*state, "trace.tgt");
    write_trace(path, 5, N_EVENTS);
    struct tg_source *source = open_at(path, N_EVENTS, 50), *reader = NULL;
    random_state = 6;
    for (int i = 0; i < (IS_SANITIZED ? 7 : 20); i++) {
        uint64_t time_ns = 950 + below(N_EVENTS * 10 + 200);
        go(source, (struct tg_target){.kind = TG_TO_TIME, .time_ns = time_ns});
        uint64_t number = 0, moment_ns = tg_source_moment_ns(source);
        go(source, (struct tg_target){.kind = TG_TO_EVENT, .number = source->number}); /* drops the moment */
        expect_as_fresh(path, source);
        assert_fine(tg_trace_source_create(path, NULL, &reader));
        for (bool at_end = false;;) {
            assert_fine(reader->ops->step(reader, &at_end));
            if (at_end || reader->event->time_ns > time_ns)
                break;
            number = reader->number;
        }
        tg_source_destroy(reader);
        assert_int_equal(source->number, number);
        assert_int_equal(moment_ns, number == N_EVENTS || number == 0 ? source->time_ns : time_ns);
    }
    tg_source_destroy(source);
    free(path);
}

static void the_end_is_an_end(void **state)
{
    char *path = temporary_path(*state, "trace.tgt");
    write_trace(path, 7, 100);
    struct tg_source *source = NULL;
    assert_fine(tg_trace_source_create(path, NULL, &source));
    go(source, (struct tg_target){.kind = TG_TO_END});
    assert_int_equal(source->number, 100);
    for (int i = 0; i < 3; i++) {
        bool at_end = false;
        assert_fine(source->ops->step(source, &at_end));
        assert_true(at_end);
        assert_int_equal(source->number, 100);
        assert_non_null(source->event);
    }
    go(source, (struct tg_target){.kind = TG_TO_EVENT, .number = 99});
    bool at_end = false;
    assert_fine(source->ops->step(source, &at_end));
    assert_false(at_end);
    expect_as_fresh(path, source);
    go(source, (struct tg_target){.kind = TG_TO_EVENT});
    assert_null(source->event);
    expect_as_fresh(path, source);
    tg_source_destroy(source);
    free(path);
}

static void an_interrupt_leaves_a_valid_place(void **state)
{
    char *path = temporary_path(*state, "trace.tgt");
    write_trace(path, 9, N_EVENTS);
    struct tg_source *source = open_at(path, 2000, 0);
    tg_interrupt_catch();
    raise(SIGINT);
    const struct tg_target target = {.kind = TG_TO_EVENT, .number = 1999};
    expect_error(source->ops->seek(source, &target), TG_ERROR_USAGE, "interrupted");
    tg_interrupt_clear();
    tg_interrupt_release();
    expect_as_fresh(path, source);
    go(source, target);
    expect_as_fresh(path, source);
    tg_source_destroy(source);
    free(path);
}

/* A reader comes back to wherever it told that it was, over many chunks. */
static void bookmarks_lead_back(void **state)
{
    enum { COUNT = 2000, PER_CHUNK = 37 };
    char *path = temporary_path(*state, "chunks.tgt");
    struct tg_trace_reader *reader = NULL;
    static struct tg_trace_bookmark marks[COUNT + 1];
    trace_fixture_write(path, 11, COUNT, PER_CHUNK);
    assert_fine(tg_trace_reader_open(path, &reader));
    for (uint64_t i = 0;; i++) {
        const struct tg_event *event = NULL;
        marks[i] = tg_trace_reader_tell(reader);
        assert_fine(tg_trace_reader_next(reader, &event));
        if (event == NULL) {
            assert_int_equal(i, COUNT);
            break;
        }
    }
    random_state = 12;
    for (int i = 0; i < 100; i++) {
        struct tg_error *error = NULL;
        uint64_t at = i == 0 ? COUNT : i == 1 ? 0 : below(COUNT + 1);
        assert_fine(tg_trace_reader_return(reader, &marks[at]));
        assert_int_equal(tg_trace_reader_tell(reader).events, marks[at].events);
        assert_int_equal(trace_fixture_compare(reader, 11, at, &error), COUNT - at);
        assert_null(error);
    }
    const struct tg_trace_bookmark wrong = {.offset = marks[COUNT].offset + 1, .events = 1};
    expect_error(tg_trace_reader_return(reader, &wrong), TG_ERROR_INPUT, "chunks.tgt");
    const struct tg_trace_bookmark beyond = {.offset = marks[1].offset, .events = PER_CHUNK + 1};
    expect_error(tg_trace_reader_return(reader, &beyond), TG_ERROR_INPUT, "the chunk has changed");
    tg_trace_reader_close(reader);
    free(path);
}

/* ... also where its events, were they counted again each time, were too many for a file of its size. */
static void what_is_read_again_is_counted_once(void **state)
{
    enum { COUNT = 500, PER_CHUNK = 37 };
    char *path = temporary_path(*state, "again.tgt");
    struct tg_trace_reader *reader = NULL;
    struct stat status;
    trace_fixture_write(path, 13, COUNT, PER_CHUNK);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size - 1), 0); /* without an index the reader counts */
    assert_fine(tg_trace_reader_open(path, &reader));
    for (int i = 0; i < 3; i++) {
        struct tg_error *error = NULL;
        assert_int_equal(trace_fixture_compare(reader, 13, 0, &error), COUNT);
        assert_null(error);
        assert_int_equal(tg_trace_reader_summary(reader).events, COUNT);
        assert_int_equal(tg_trace_reader_summary(reader).chunks, (COUNT + PER_CHUNK - 1) / PER_CHUNK);
        assert_fine(tg_trace_reader_return(reader, &(struct tg_trace_bookmark){0}));
    }
    tg_trace_reader_close(reader);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(jumps_give_what_reading_gives),
        trace_test(small_steps_give_what_reading_gives),
        trace_test(a_time_is_one_place),
        trace_test(the_end_is_an_end),
        trace_test(an_interrupt_leaves_a_valid_place),
        trace_test(bookmarks_lead_back),
        trace_test(what_is_read_again_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
