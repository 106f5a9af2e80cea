#include "tests/support/trace_fixture.h"

#include "format/trace/chunk_columns.h"
#include "format/trace/chunk_encoder.h"
#include "format/trace/chunk_serializer.h"
#include "format/trace/file.h"
#include "format/trace/index.h"
#include "format/trace/recording_lock.h"
#include "format/trace/recovery.h"
#include "format/trace/section_codec.h"
#include "format/trace/writer.h"
#include "tests/support/event_sample.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t compare_all(struct tg_trace_reader *reader, uint64_t seed, uint64_t first)
{
    struct tg_error *error = NULL;
    uint64_t n = trace_fixture_compare(reader, seed, first, &error);
    assert_fine(error);
    return n;
}

static void write_through_writer(const char *path, uint64_t seed, uint64_t n)
{
    struct tg_trace_meta *meta = trace_fixture_meta();
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {.max_queue_bytes = (uint64_t)1 << 32};
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

static void every_kind_and_field_comes_back(void **state)
{
    enum { N = 100000 }; /* more than one chunk */
    char *path = temporary_path(*state, "trace"), *incomplete = temporary_path(*state, "trace.incomplete");
    write_through_writer(path, 1, N);
    struct tg_trace_reader *reader = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    const struct tg_trace_meta *meta = tg_trace_reader_meta(reader);
    assert_int_equal(tg_trace_meta_count(meta), 3);
    assert_string_equal(tg_trace_meta_key_at(meta, 0), "tool.version");
    assert_string_equal(tg_trace_meta_get(meta, "command.0"), "./app \xff\n");
    assert_true(tg_trace_meta_get_number(meta, "start.monotonic_ns", 0) == UINT64_MAX);
    struct tg_trace_summary summary = tg_trace_reader_summary(reader);
    assert_true(summary.complete);
    assert_int_equal(summary.events, N);
    assert_true(summary.chunks > 1);
    assert_int_equal(compare_all(reader, 1, 0), N);
    summary = tg_trace_reader_summary(reader);
    assert_true(summary.complete);
    assert_false(summary.truncated);
    assert_int_equal(summary.events, N);
    tg_trace_reader_close(reader);
    assert_int_not_equal(access(incomplete, F_OK), 0);
    free(incomplete);
    free(path);
}

/* Event I of a made-up series whose times and stops are at all places of a unit; now and then time goes
 * back. */
static struct tg_event timed_event(uint64_t i)
{
    uint64_t random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    return (struct tg_event){.kind = TG_EVENT_LIBRARY_NULL,
                             .pid = 1,
                             .tid = 1,
                             .time_ns = 1000000007 + i * 3001 + random % 997 - (i % 50 == 49 ? 70000 : 0),
                             .stop_ns = i % 3 == 0 ? 0 : 1 + (random >> 20) % (i % 3 == 1 ? 3000 : 200)};
}

static struct tg_trace_meta *meta_with(const char *time_ns, const char *stop_ns)
{
    struct tg_trace_meta *meta = trace_fixture_meta();
    if (time_ns != NULL)
        assert_fine(tg_trace_meta_set(meta, "time.resolution_ns", time_ns));
    if (stop_ns != NULL)
        assert_fine(tg_trace_meta_set(meta, "stop.resolution_ns", stop_ns));
    return meta;
}

/* What WRITER wrote to PATH. META is destroyed, too. */
static struct tg_trace_reader *reopen(const char *path, struct tg_trace_writer *writer,
                                      struct tg_trace_meta *meta)
{
    struct tg_trace_reader *reader = NULL;
    assert_fine(tg_trace_writer_close(writer, NULL));
    tg_trace_meta_destroy(meta);
    assert_fine(tg_trace_reader_open(path, &reader));
    return reader;
}

/* N timed events, written to PATH with META, which is destroyed. */
static struct tg_trace_reader *write_timed(const char *path, struct tg_trace_meta *meta, uint64_t n)
{
    struct tg_trace_writer *writer = NULL;
    assert_fine(
        tg_trace_writer_create(path, &(struct tg_trace_writer_options){.overwrite = true}, meta, &writer));
    for (uint64_t i = 0; i < n; i++) {
        struct tg_event event = timed_event(i);
        tg_trace_writer_add(writer, &event);
    }
    return reopen(path, writer, meta);
}

static void expect_rounded(const char *path, const char *time_text, const char *stop_text)
{
    enum { N = 3000 };
    struct tg_trace_meta *meta = meta_with(time_text, stop_text);
    uint64_t unit = tg_trace_meta_get_number(meta, "time.resolution_ns", 1);
    uint64_t stop_unit = tg_trace_meta_get_number(meta, "stop.resolution_ns", unit);
    struct tg_trace_reader *reader = write_timed(path, meta, N);
    const struct tg_event *event = NULL;
    int64_t sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        struct tg_event exact = timed_event(i);
        assert_fine(tg_trace_reader_next(reader, &event));
        assert_non_null(event);
        assert_int_equal(event->time_ns, exact.time_ns / unit * unit);
        assert_int_equal(event->stop_ns > 0, exact.stop_ns > 0); /* a stop stays one */
        assert_int_equal(event->stop_ns % stop_unit, 0);
        uint64_t start_ns = exact.time_ns / stop_unit * stop_unit;
        uint64_t end_ns = (exact.time_ns + exact.stop_ns) / stop_unit * stop_unit;
        if (exact.stop_ns == 0)
            continue;
        assert_int_equal(event->stop_ns, end_ns > start_ns ? end_ns - start_ns : stop_unit);
        if (end_ns > start_ns)
            sum += (int64_t)event->stop_ns - (int64_t)exact.stop_ns;
    }
    assert_fine(tg_trace_reader_next(reader, &event));
    assert_null(event);
    assert_true(sum > -N * 4 &&
                sum < N * 4); /* no bias worth naming: it would be N * 20 for lengths rounded down */
    tg_trace_reader_close(reader);
}

/* Events by runs, with single ones in between, are those that come one by one. */
static void expect_runs(const char *path)
{
    enum { N = 1000 };
    struct tg_trace_meta *meta = meta_with("1", "1");
    struct tg_trace_reader *reader = write_timed(path, meta, N);
    const struct tg_event *events = NULL;
    size_t count = 1;
    for (uint64_t i = 0; count > 0;) {
        assert_fine(tg_trace_reader_run(reader, &events, &count));
        for (size_t n = 0; n < count; n++)
            assert_int_equal(events[n].time_ns, timed_event(i + n).time_ns);
        i += count;
        assert_int_equal(tg_trace_reader_tell(reader).events, i);
        if (count == 0)
            assert_int_equal(i, N);
        for (size_t n = 0; n < 3 && count > 0; n++, i++) {
            assert_fine(tg_trace_reader_next(reader, &events));
            if (events == NULL)
                break;
            assert_int_equal(events->time_ns, timed_event(i).time_ns);
        }
    }
    tg_trace_reader_close(reader);
}

static bool is_wanted(const void *context, unsigned kind)
{
    (void)context;
    return kind % 3 == 0;
}

/* From A every event that is wanted or has a stop, from B, which passes the others over, every event. */
static uint64_t compare_wanted(struct tg_trace_reader *a, struct tg_trace_reader *b)
{
    const struct tg_event *x = NULL, *y = NULL;
    uint64_t n = 0;
    tg_trace_reader_want(b, (struct tg_wanted_kinds){.wants = is_wanted});
    for (;; n++) {
        do
            assert_fine(tg_trace_reader_next(a, &x));
        while (x != NULL && !is_wanted(NULL, x->kind) && x->stop_ns == 0);
        assert_fine(tg_trace_reader_next(b, &y));
        assert_int_equal(x == NULL, y == NULL);
        if (x == NULL)
            return n;
        assert_true(event_equal(x, y));
    }
}

static void unwanted_kinds_are_passed_over(void **state)
{
    enum { N = 50000, QUIET = 200000 };
    char *path = temporary_path(*state, "trace");
    struct tg_trace_meta *meta = trace_fixture_meta();
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {.max_queue_bytes = (uint64_t)1 << 32};
    struct event_sample *sample = event_sample_create(7);
    uint64_t wanted = 0, quiet_kind = TG_EVENT_MPI_ENTER;
    assert_false(is_wanted(NULL, (unsigned)quiet_kind));
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    for (uint64_t i = 0; i < 2 * N; i++) {
        const struct tg_event *event = event_sample_at(sample, i);
        wanted += is_wanted(NULL, event->kind) || event->stop_ns > 0;
        tg_trace_writer_add(writer, event);
        for (uint64_t q = 0; i == N && q < QUIET; q++) { /* chunks in which nothing is wanted */
            struct tg_event quiet = {.kind = TG_EVENT_MPI_ENTER, .pid = 1, .tid = 1, .time_ns = q};
            tg_trace_writer_add(writer, &quiet);
        }
    }
    assert_fine(tg_trace_writer_close(writer, NULL));
    event_sample_destroy(sample);
    tg_trace_meta_destroy(meta);
    struct tg_trace_reader *all = NULL, *some = NULL;
    assert_fine(tg_trace_reader_open(path, &all));
    assert_fine(tg_trace_reader_open(path, &some));
    assert_int_equal(compare_wanted(all, some), wanted);
    struct tg_trace_summary a = tg_trace_reader_summary(all), b = tg_trace_reader_summary(some);
    assert_int_equal(a.events, 2 * N + QUIET);
    assert_int_equal(b.events, a.events);
    tg_trace_reader_close(all);
    tg_trace_reader_close(some);
    free(path);
}

/* Appends a section with one event of KIND that the index has as INDEXED. */
static void append_one(struct tg_trace_file *file, enum tg_event_kind kind, enum tg_event_kind indexed)
{
    struct tg_byte_buffer payload = {0}, boundaries = {0};
    struct tg_chunk_serializer *serializer = tg_chunk_serializer_create();
    struct tg_chunk_encoder *encoder = tg_chunk_encoder_create((struct tg_trace_units){0});
    struct tg_event event = {.kind = kind, .pid = 1, .tid = 1, .time_ns = 1};
    assert_true(serializer != NULL && encoder != NULL);
    assert_int_equal(tg_chunk_encoder_add(encoder, &event), TG_CHUNK_ADDED);
    assert_fine(tg_chunk_serialize(serializer, tg_chunk_encoder_columns(encoder), &payload, &boundaries));
    struct tg_chunk_facts facts = {
        .n_events = 1, .first_time_ns = 1, .last_time_ns = 1, .kinds = {.is_known = true}};
    tg_kind_set_add(&facts.kinds, indexed);
    assert_fine(tg_trace_file_append_events(file, &facts, &payload, &boundaries));
    tg_chunk_serializer_destroy(serializer);
    tg_chunk_encoder_destroy(encoder);
    tg_byte_buffer_deinit(&payload);
    tg_byte_buffer_deinit(&boundaries);
}

/* A trace of two events, the first of LIBRARY_NULL, which its index has as INDEXED. */
static void write_two(const char *path, enum tg_event_kind indexed)
{
    struct tg_trace_file *file = NULL;
    struct tg_trace_meta *meta = trace_fixture_meta();
    assert_fine(tg_trace_file_create(path, TG_TRACE_INCOMPLETE_SUFFIX, true, 0, meta, &file));
    append_one(file, TG_EVENT_LIBRARY_NULL, indexed);
    append_one(file, TG_EVENT_THREAD_EXIT, TG_EVENT_THREAD_EXIT);
    assert_fine(tg_trace_file_finish(file, 0));
    tg_trace_file_destroy(file);
    tg_trace_meta_destroy(meta);
}

static bool is_thread_exit(const void *context, unsigned kind)
{
    (void)context;
    return kind == TG_EVENT_THREAD_EXIT;
}

/* Reads PATH to its end, or to an error. */
static struct tg_error *read_all(const char *path, struct tg_wanted_kinds wanted, uint64_t *n_events)
{
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *event = NULL;
    struct tg_error *error = tg_trace_reader_open(path, &reader);
    assert_fine(error);
    tg_trace_reader_want(reader, wanted);
    for (*n_events = 0; (error = tg_trace_reader_next(reader, &event)) == NULL && event != NULL;)
        ++*n_events;
    assert_int_equal(tg_trace_reader_summary(reader).events, 2);
    tg_trace_reader_close(reader);
    return error;
}

static void unwanted_sections_are_not_read(void **state)
{
    const struct tg_wanted_kinds exits = {.wants = is_thread_exit}, all = {.wants = NULL};
    char *path = temporary_path(*state, "trace");
    struct tg_section_header header;
    uint64_t n_events = 0;
    unsigned long size = 0;
    write_two(path, TG_EVENT_LIBRARY_NULL);
    unsigned char *bytes = temporary_read(path, &size);
    assert_int_equal(tg_section_header_decode(bytes, &header), TG_SECTION_FINE);
    unsigned long at = TG_SECTION_HEADER_BYTES + header.compressed_bytes; /* of the first section of events */
    bytes[at + TG_SECTION_HEADER_BYTES] ^= 1;
    temporary_write(path, bytes, size);
    assert_fine(read_all(path, exits, &n_events));
    assert_int_equal(n_events, 1);
    expect_error(read_all(path, all, &n_events), TG_ERROR_INPUT, "checksum");
    free(bytes);
    free(path);
}

/* The first section of events has a kind that the index does not have there: whoever reads the section says so. */
static void an_index_by_kind_that_hides_events_is_found(void **state)
{
    const struct tg_wanted_kinds all = {.wants = NULL};
    char *path = temporary_path(*state, "trace"), *clean = temporary_path(*state, "clean");
    struct tg_recovery recovery = {0};
    uint64_t n_events = 0;
    write_two(path, TG_EVENT_MPI_ENTER);
    expect_error(read_all(path, all, &n_events), TG_ERROR_INPUT, "index by kind");
    assert_int_equal(n_events, 0);
    assert_fine(tg_trace_recover(path, clean, true, NULL, &recovery));
    assert_fine(read_all(clean, all, &n_events));
    assert_int_equal(n_events, 2);
    assert_fine(read_all(clean, (struct tg_wanted_kinds){.wants = is_thread_exit}, &n_events));
    assert_int_equal(n_events, 1);
    tg_recovery_deinit(&recovery);
    free(path);
    free(clean);
}

/* Writes the trace in BYTES, of SIZE, to PATH with an index that has one event more. */
static void write_with_false_index(const char *path, const uint8_t *bytes, unsigned long size)
{
    uint64_t at = 0;
    struct tg_section_header header;
    struct tg_trace_index index = {0};
    struct tg_section_codec *codec = NULL;
    struct tg_byte_buffer raw = {0}, payload = {0}, file = {0};
    uint8_t trailer[TG_TRAILER_BYTES];
    assert_true(tg_trailer_decode(bytes + size - TG_TRAILER_BYTES, &at));
    assert_int_equal(tg_section_header_decode(bytes + at, &header), TG_SECTION_FINE);
    assert_fine(tg_section_codec_create(0, &codec));
    assert_fine(tg_section_codec_unpack(codec, &header, bytes + at + TG_SECTION_HEADER_BYTES, &raw));
    struct tg_byte_source source = {.file = path, .section = "INDEX", .start = raw.data};
    struct tg_byte_cursor cursor = {raw.data, raw.data + raw.size, &source};
    assert_fine(tg_trace_index_decode(&index, &cursor));
    index.entries[0].events++;
    assert_fine(tg_trace_index_encode(&index, &payload));
    assert_true(tg_byte_buffer_reserve(&file, size + 2 * TG_SECTION_HEADER_BYTES + payload.size));
    tg_byte_buffer_put(&file, bytes, (size_t)at);
    assert_fine(tg_section_codec_pack(codec, &header, &payload, NULL, &file));
    tg_trailer_encode(at, trailer);
    assert_true(tg_byte_buffer_reserve(&file, sizeof trailer));
    tg_byte_buffer_put(&file, trailer, sizeof trailer);
    temporary_write(path, file.data, file.size);
    tg_trace_index_deinit(&index);
    tg_section_codec_destroy(codec);
    tg_byte_buffer_deinit(&raw);
    tg_byte_buffer_deinit(&payload);
    tg_byte_buffer_deinit(&file);
}

/* An index with another number of events is found at the end, when all events have come; not by who goes to a moment. */
static void an_index_that_lies_is_found(void **state)
{
    char *path = temporary_path(*state, "trace");
    const struct tg_event *event = NULL;
    struct tg_trace_reader *reader = NULL;
    struct tg_error *error;
    unsigned long size = 0;
    unsigned n = 0;
    write_two(path, TG_EVENT_LIBRARY_NULL);
    unsigned char *bytes = temporary_read(path, &size);
    write_with_false_index(path, bytes, size);
    assert_fine(tg_trace_reader_open(path, &reader));
    while ((error = tg_trace_reader_next(reader, &event)) == NULL && event != NULL)
        n++;
    expect_error(error, TG_ERROR_INPUT, "index");
    assert_int_equal(n, 2);
    assert_fine(tg_trace_reader_seek(reader, 1));
    for (n = 0; (error = tg_trace_reader_next(reader, &event)) == NULL && event != NULL;)
        n++;
    assert_fine(error);
    assert_int_equal(n, 2);
    tg_trace_reader_close(reader);
    free(bytes);
    free(path);
}

static void times_are_rounded_as_the_trace_says(void **state)
{
    char *path = temporary_path(*state, "trace");
    expect_rounded(path, NULL, NULL);
    expect_rounded(path, "1", "64");
    expect_rounded(path, "16", "64");
    expect_rounded(path, "64", NULL);
    expect_rounded(path, "64", "64");
    expect_rounded(path, NULL, "32");
    expect_runs(path);
    free(path);
}

static void resolutions_that_are_none_are_refused(void **state)
{
    char *path = temporary_path(*state, "trace");
    static const char *const values[][2] = {{"0", NULL},       {"", NULL},   {"48", NULL},
                                            {"2097152", NULL}, {"-8", NULL}, {"8.0", NULL},
                                            {NULL, "63"},      {"8", "0"},   {"16", "8"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct tg_trace_meta *meta = meta_with(values[i][0], values[i][1]);
        struct tg_trace_writer *writer = NULL;
        expect_error(tg_trace_writer_create(path, &(struct tg_trace_writer_options){0}, meta, &writer),
                     TG_ERROR_USAGE, "resolution_ns");
        assert_int_not_equal(access(path, F_OK), 0);
        tg_trace_meta_destroy(meta);
    }
    free(path);
}

/* Texts that come and go in one place of memory, and payloads with numbers; over many chunks. */
static void what_is_known_of_an_event_is_not_mistaken(void **state)
{
    enum { N = 200000 };
    char *path = temporary_path(*state, "trace"), text[16], expected[16];
    struct tg_trace_meta *meta = trace_fixture_meta();
    struct tg_trace_writer *writer = NULL;
    struct tg_trace_writer_options options = {.max_queue_bytes = (uint64_t)1 << 32};
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    for (uint64_t i = 0; i < N; i++) {
        snprintf(text, sizeof text, "%d", (int)(i * i % 7));
        struct tg_event event = {
            .kind = TG_EVENT_MPI_LEAVE, .pid = 1, .tid = (int32_t)(1 + i % 3), .time_ns = i};
        event.mpi_leave = (struct tg_event_mpi_leave){.call = text, .peer = (int64_t)(i * i % 7) - 3};
        if (i % 5 > 0) /* more of them than an encoder remembers */
            event.payload_id = 1 + i * i % 7 + 7 * (i / 90 % 400);
        if (i % 11 == 0)
            event.mpi_leave.call = i % 2 == 0 ? NULL : "";
        if (i % 11 == 0)
            event.payload_id = 0;
        tg_trace_writer_add(writer, &event);
    }
    struct tg_trace_reader *reader = reopen(path, writer, meta);
    const struct tg_event *event = NULL;
    for (uint64_t i = 0; i < N; i++) {
        assert_fine(tg_trace_reader_next(reader, &event));
        assert_non_null(event);
        snprintf(expected, sizeof expected, "%d", (int)(i * i % 7));
        assert_string_equal(event->mpi_leave.call, i % 11 == 0 ? "" : expected);
        assert_int_equal(event->mpi_leave.peer, (int64_t)(i * i % 7) - 3);
        assert_int_equal(event->tid, 1 + i % 3);
        assert_int_equal(event->time_ns, i);
        assert_int_equal(event->payload_id, 0);
    }
    tg_trace_reader_close(reader);
    free(path);
}

/* Event I of makers that change what they tell now and then, or its time alone. */
enum { MAKERS = 12 };
static struct tg_event made_again(uint64_t i)
{
    static const char *const calls[] = {"MPI_Send", "MPI_Recv", NULL, ""};
    uint64_t maker = i % MAKERS, turn = i / MAKERS, version = maker < 6 ? turn / 50 : maker < 9 ? turn : 0;
    uint64_t back_ns = i % 5000 == 17 ? 30000 : 0, far_ns = i / 7000 * 3000000000;
    struct tg_event event = {
        .pid = 10, .tid = (int32_t)(10 + maker % 4), .time_ns = 1000000 + 40 * i + far_ns - back_ns};
    if (maker % 3 == 0) {
        event.kind = TG_EVENT_MPI_LEAVE;
        event.mpi_leave =
            (struct tg_event_mpi_leave){.call = calls[version % 4], .peer = (int64_t)(version % 7) - 3};
    } else {
        event.kind = maker % 3 == 1 ? TG_EVENT_OMP_SYNC_BEGIN : TG_EVENT_OMP_SYNC_END;
        event.omp_sync_begin.instance = version;
        event.omp_sync_begin.team = maker + version / 3;
        event.omp_sync_begin.level = 1 + version / 1000;
    }
    return event;
}

/* The fields in which B's payload differs from A's. */
static uint32_t fields_changed(const struct tg_event *a, const struct tg_event *b)
{
    const struct tg_record_schema *schema = tg_event_schema(b->kind);
    const char *of_a = TG_EVENT_PAYLOAD((struct tg_event *)(uintptr_t)a),
               *of_b = TG_EVENT_PAYLOAD((struct tg_event *)(uintptr_t)b);
    uint32_t fields = 0;
    for (size_t f = 0; f < schema->n_fields; f++)
        if (memcmp(of_a + schema->fields[f].offset, of_b + schema->fields[f].offset, sizeof(uint64_t)) != 0)
            fields |= schema->fields[f].type == TG_FIELD_STRING ? TG_EVENT_ALL_FIELDS : UINT32_C(1) << f;
    return a->kind != b->kind ? TG_EVENT_ALL_FIELDS : fields;
}

static void count_seal(void *context, uint64_t n_events, bool with_last)
{
    (void)n_events, (void)with_last;
    ++*(uint64_t *)context;
}

/* What was made comes back: many chunks, time that goes back, places that are full, alone and beside events that come once. */
static void what_comes_again_goes_where_it_was(void **state)
{
    enum { N = 300000 };
    char *path = temporary_path(*state, "trace");
    struct tg_trace_meta *meta = trace_fixture_meta();
    struct tg_trace_writer *writer = NULL;
    uint64_t n_seals = 0;
    struct tg_trace_writer_options options = {
        .max_queue_bytes = (uint64_t)1 << 32, .sealing = count_seal, .context = &n_seals};
    struct tg_event_place places[MAKERS] = {0};
    struct tg_event before[MAKERS] = {0};
    assert_fine(tg_trace_writer_create(path, &options, meta, &writer));
    for (uint64_t i = 0; i < N; i++) {
        struct tg_event event = made_again(i), *last = &before[i % MAKERS];
        places[i % MAKERS].changed |= fields_changed(last, &event);
        *last = event;
        if (i % 97 == 0)
            tg_trace_writer_add(writer, &event);
        else
            tg_trace_writer_add_again(writer, &event, &places[i % MAKERS]);
    }
    struct tg_trace_reader *reader = reopen(path, writer, meta);
    const struct tg_event *event = NULL;
    for (uint64_t i = 0; i < N; i++) {
        struct tg_event expected = made_again(i);
        assert_fine(tg_trace_reader_next(reader, &event));
        assert_non_null(event);
        if (!event_equal(event, &expected))
            fail_msg("event %d is another one", (int)i);
    }
    assert_true(n_seals > 3);
    tg_trace_reader_close(reader);
    free(path);
}

static void an_empty_trace_is_a_trace(void **state)
{
    char *path = temporary_path(*state, "trace");
    write_through_writer(path, 1, 0);
    struct tg_trace_reader *reader = NULL;
    assert_fine(tg_trace_reader_open(path, &reader));
    assert_int_equal(compare_all(reader, 1, 0), 0);
    assert_true(tg_trace_reader_summary(reader).complete);
    tg_trace_reader_close(reader);
    free(path);
}

static void a_pipe_is_read_but_not_sought(void **state)
{
    char *path = temporary_path(*state, "trace");
    trace_fixture_write(path, 3, 100, 30);
    unsigned long size = 0;
    unsigned char *bytes = temporary_read(path, &size);
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_true(size < 60000); /* the pipe holds it all */
    assert_int_equal(write(ends[1], bytes, size), (ssize_t)size);
    close(ends[1]);
    int saved = dup(STDIN_FILENO);
    assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
    struct tg_trace_reader *reader = NULL;
    assert_fine(tg_trace_reader_open("-", &reader));
    expect_error(tg_trace_reader_seek(reader, 0), TG_ERROR_UNSUPPORTED, "seek");
    assert_int_equal(compare_all(reader, 3, 0), 100);
    struct tg_trace_summary summary = tg_trace_reader_summary(reader);
    assert_true(summary.complete);
    assert_int_equal(summary.chunks, 4);
    assert_int_equal(summary.size_bytes, size);
    tg_trace_reader_close(reader);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    free(bytes);
    free(path);
}

/* Seeks to TIME_NS and expects the first chunk with an event at or after it. */
static void expect_seek(struct tg_trace_reader *reader, uint64_t seed, uint64_t n, uint64_t per_chunk,
                        uint64_t time_ns)
{
    struct event_sample *sample = event_sample_create(seed);
    uint64_t first = n;
    for (uint64_t i = 0; i < n && first == n; i++)
        if (event_sample_at(sample, i)->time_ns >= time_ns)
            first = i / per_chunk * per_chunk;
    event_sample_destroy(sample);
    assert_fine(tg_trace_reader_seek(reader, time_ns));
    assert_int_equal(compare_all(reader, seed, first), n - first);
}

static void seeking_finds_the_chunk(void **state)
{
    enum { N = 2000, PER_CHUNK = 45 };
    char *path = temporary_path(*state, "trace");
    trace_fixture_write(path, 4, N, PER_CHUNK);
    unsigned long size = 0;
    free(temporary_read(path, &size));
    for (int with_index = 1; with_index >= 0; with_index--) {
        if (with_index == 0)
            assert_int_equal(truncate(path, (off_t)size - 10), 0); /* into the trailer */
        struct tg_trace_reader *reader = NULL;
        assert_fine(tg_trace_reader_open(path, &reader));
        assert_int_equal(tg_trace_reader_summary(reader).complete, with_index);
        for (uint64_t i = 0; i < N; i += 99)
            expect_seek(reader, 4, N, PER_CHUNK, UINT64_C(1000000000000) + i * 1000);
        expect_seek(reader, 4, N, PER_CHUNK, 0);
        expect_seek(reader, 4, N, PER_CHUNK, UINT64_MAX);
        tg_trace_reader_close(reader);
    }
    free(path);
}

static void what_is_no_trace_is_refused(void **state)
{
    char *path = temporary_path(*state, "trace");
    struct tg_trace_reader *reader = NULL;
    expect_error(tg_trace_reader_open(path, &reader), TG_ERROR_NOT_FOUND, "no such file");
    temporary_write(path, "", 0);
    expect_error(tg_trace_reader_open(path, &reader), TG_ERROR_INPUT, "empty");
    temporary_write(path, "#!/bin/sh\n", 10);
    expect_error(tg_trace_reader_open(path, &reader), TG_ERROR_INPUT, "not a tollgate trace");
    struct temporary *temporary = *state;
    expect_error(tg_trace_reader_open(temporary->directory, &reader), TG_ERROR_OS, "directory");
    free(path);
}

/* A recorder that has taken its lock, and has written nothing yet; it lives as long as its line is open. */
static pid_t start_recorder(const char *path, int *line)
{
    int ends[2];
    char byte;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_WRONLY);
        close(ends[0]);
        bool is_locked = tg_recording_lock_take(fd);
        (void)!write(ends[1], "", 1);
        _exit(is_locked && read(ends[1], &byte, 1) == 0 ? 0 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    *line = ends[0];
    return pid;
}

static void one_that_is_just_begun_is_a_trace(void **state)
{
    char *path = temporary_path(*state, "trace");
    struct tg_trace_reader *reader = NULL;
    const struct tg_event *event = NULL;
    int line, status;
    temporary_write(path, "", 0);
    pid_t pid = start_recorder(path, &line);
    assert_fine(tg_trace_reader_open(path, &reader));
    assert_true(tg_trace_reader_summary(reader).is_recording);
    assert_fine(tg_trace_reader_next(reader, &event));
    assert_null(event);
    tg_trace_reader_close(reader);
    close(line);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(every_kind_and_field_comes_back),
        trace_test(times_are_rounded_as_the_trace_says),
        trace_test(unwanted_kinds_are_passed_over),
        trace_test(unwanted_sections_are_not_read),
        trace_test(an_index_by_kind_that_hides_events_is_found),
        trace_test(an_index_that_lies_is_found),
        trace_test(resolutions_that_are_none_are_refused),
        trace_test(an_empty_trace_is_a_trace),
        trace_test(a_pipe_is_read_but_not_sought),
        trace_test(seeking_finds_the_chunk),
        trace_test(what_is_no_trace_is_refused),
        trace_test(one_that_is_just_begun_is_a_trace),
        trace_test(what_is_known_of_an_event_is_not_mistaken),
        trace_test(what_comes_again_goes_where_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
