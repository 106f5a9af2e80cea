#include "analyzer/page/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void feed(struct tg_timeline *timeline, size_t process, enum tg_event_kind kind, uint64_t time_ns)
{
    struct tg_event event = {
        .kind = kind, .pid = 100 + (int32_t)process, .tid = 100 + (int32_t)process, .time_ns = time_ns};
    assert_null(tg_timeline_feed(timeline, &event, process));
}

static struct tg_timeline *create(size_t max_buckets)
{
    struct tg_timeline *timeline;
    const struct tg_timeline_options options = {.start_ns = 1000, .max_buckets = max_buckets};
    assert_null(tg_timeline_create(&options, &timeline));
    return timeline;
}

/* Time of ROW in ACTIVITY, from the columns of the whole. */
static uint64_t sum_of(const struct tg_timeline *timeline, size_t row, enum tg_activity activity)
{
    struct tg_timeline_columns columns =
        tg_timeline_columns(timeline, tg_timeline_start_ns(timeline), tg_timeline_end_ns(timeline), 300,
                            tg_timeline_bucket_ns(timeline));
    assert_true(columns.count <= 300 && columns.count > 0);
    assert_true((columns.width_ns & (columns.width_ns - 1)) == 0);
    struct tg_timeline_cell *cells = calloc(columns.count, sizeof *cells);
    uint64_t sum = 0;
    tg_timeline_add(timeline, row, &columns, cells);
    for (size_t i = 0; i < columns.count; i++)
        sum += cells[i].ns[activity];
    free(cells);
    return sum;
}

static void assert_about(uint64_t is, uint64_t expected, uint64_t within)
{
    if (is + within < expected || is > expected + within)
        fail_msg("%llu, not %llu", (unsigned long long)is, (unsigned long long)expected);
}

static void time_is_kept_however_often_buckets_are_joined(void **context)
{
    (void)context;
    struct tg_timeline *timeline = create(2000);
    uint64_t now = 1000, mpi = 0, all = 0;
    for (size_t i = 0; i < 4; i++)
        feed(timeline, i, TG_EVENT_PROCESS_START, now);
    srand(4);
    for (int i = 0; i < 20000; i++) {
        uint64_t computes = 1 + (uint64_t)rand() % 100000, calls = 1 + (uint64_t)rand() % 50000;
        feed(timeline, 1, TG_EVENT_MPI_ENTER, now += computes);
        feed(timeline, 1, TG_EVENT_MPI_LEAVE, now += calls);
        mpi += calls;
        all += computes + calls;
    }
    assert_int_equal(tg_timeline_count(timeline), 4);
    assert_true(tg_timeline_bucket_ns(timeline) > 1024);
    assert_about(sum_of(timeline, 1, TG_ACTIVITY_MPI), mpi, all / 200);
    assert_about(sum_of(timeline, 1, TG_ACTIVITY_COMPUTING), all - mpi, all / 200);
    /* one that never did anything else */
    assert_about(sum_of(timeline, 0, TG_ACTIVITY_COMPUTING), all, all / 1000 + 1);
    assert_int_equal(sum_of(timeline, 0, TG_ACTIVITY_MPI), 0);
    tg_timeline_destroy(timeline);
}

static void a_row_ends_with_its_process_and_a_used_pid_is_another_one(void **context)
{
    (void)context;
    struct tg_timeline *timeline = create(0);
    feed(timeline, 0, TG_EVENT_PROCESS_START, 1000);
    feed(timeline, 0, TG_EVENT_PROCESS_EXIT, 51000);
    feed(timeline, 1, TG_EVENT_PROCESS_START, 51000);
    struct tg_event again = {.kind = TG_EVENT_PROCESS_START, .pid = 100, .tid = 100, .time_ns = 61000};
    assert_null(tg_timeline_feed(timeline, &again, 2));
    feed(timeline, 1, TG_EVENT_PROCESS_EXIT, 101000);
    assert_int_equal(tg_timeline_count(timeline), 3);
    assert_about(sum_of(timeline, 0, TG_ACTIVITY_COMPUTING), 50000, 400);
    assert_about(sum_of(timeline, 1, TG_ACTIVITY_COMPUTING), 50000, 400);
    assert_int_equal(tg_timeline_find(timeline, 100, 100, 2000), 0);
    assert_int_equal(tg_timeline_find(timeline, 100, 100, 70000), 2);
    assert_int_equal(tg_timeline_find(timeline, 1, 1, 70000), SIZE_MAX);
    assert_int_equal(tg_timeline_at(timeline, 0)->end_ns, 51000);
    assert_int_equal(tg_timeline_first_of_process(timeline, 2), 2);
    assert_int_equal(tg_timeline_first_of_process(timeline, 77), SIZE_MAX);
    tg_timeline_destroy(timeline);
}

static void marks_are_bounded_and_found_by_time(void **context)
{
    (void)context;
    struct tg_timeline *timeline = create(0);
    feed(timeline, 0, TG_EVENT_PROCESS_START, 1000);
    uint64_t marks = 0;
    for (uint64_t i = 1; i <= 20000000; i += 1000) {
        for (int k = 0; k < 2; k++)
            feed(timeline, 0, k == 0 ? TG_EVENT_MPI_ENTER : TG_EVENT_MPI_LEAVE, 1000 + i * 10);
        if (tg_timeline_wants_mark(timeline)) {
            marks++;
            assert_null(tg_timeline_mark(timeline, (struct tg_trace_bookmark){.offset = i}));
        }
    }
    assert_true(marks > 4);
    struct tg_trace_bookmark bookmark;
    const tg_activity_state *states;
    size_t count;
    uint64_t mark_ns;
    assert_true(
        tg_timeline_mark_before(timeline, 1000 + 10000000 * 10, &bookmark, &states, &count, &mark_ns));
    assert_true(mark_ns <= 1000 + 10000000 * 10);
    assert_int_equal(count, 1);
    assert_int_equal(1000 + bookmark.offset * 10, mark_ns);
    assert_false(tg_timeline_mark_before(timeline, 5, &bookmark, &states, &count, &mark_ns));
    assert_true(tg_timeline_events_between(timeline, mark_ns, mark_ns + 1) <
                tg_timeline_events_between(timeline, 1000, tg_timeline_end_ns(timeline)));
    tg_timeline_destroy(timeline);
}

static void of_many_messages_some_are_kept(void **context)
{
    (void)context;
    struct tg_timeline *timeline;
    const struct tg_timeline_options options = {.max_messages = 100};
    assert_null(tg_timeline_create(&options, &timeline));
    feed(timeline, 0, TG_EVENT_PROCESS_START, 0);
    feed(timeline, 1, TG_EVENT_PROCESS_START, 0);
    for (uint64_t i = 0; i < 1000; i++)
        assert_null(tg_timeline_take_message(timeline, 0, 100, i * 10, 1, i * 10 + 5));
    assert_null(tg_timeline_take_message(timeline, 0, 4711, 1, 1, 2)); /* from a thread without a row */
    const struct tg_timeline_message *messages;
    size_t stride, count = tg_timeline_messages(timeline, &messages, &stride);
    assert_true(count > 20 && count <= 100);
    assert_true(count * stride >= 900 && count * stride <= 1100 + stride);
    for (size_t i = 1; i < count; i++)
        assert_true(messages[i - 1].received_ns < messages[i].received_ns);
    tg_timeline_destroy(timeline);
}

static void events_out_of_order_do_no_harm(void **context)
{
    (void)context;
    struct tg_timeline *timeline = create(100);
    srand(9);
    for (int i = 0; i < 50000; i++) {
        static const enum tg_event_kind kinds[] = {
            TG_EVENT_MPI_ENTER,    TG_EVENT_MPI_LEAVE,   TG_EVENT_OMP_MUTEX_WAIT, TG_EVENT_PROCESS_EXIT,
            TG_EVENT_THREAD_EXIT,  TG_EVENT_GROUP_STOP,  TG_EVENT_EXEC,           TG_EVENT_OMP_TASK_END,
            TG_EVENT_LIBRARY_CALL, TG_EVENT_THREAD_START};
        feed(timeline, (size_t)rand() % 300, kinds[rand() % 10], (uint64_t)rand() % 900000000);
    }
    for (size_t i = 0; i < tg_timeline_count(timeline); i++)
        sum_of(timeline, i, TG_ACTIVITY_MPI);
    tg_timeline_destroy(timeline);
}

/* The first threads fill all of the room; of those that come later each is quiet for long, and then not. */
static void many_rows_take_no_more_memory_than_their_buckets(void **context)
{
    enum { THREADS = 500, BUCKETS = 20000, TIMES = 40 };
    (void)context;
    struct tg_timeline *timeline = create(BUCKETS);
    uint64_t now = 1000;
    for (size_t i = 0; i < THREADS; i++)
        feed(timeline, i, TG_EVENT_PROCESS_START, now += 1000);
    for (size_t k = 0; k < TIMES; k++)
        for (size_t i = 0; i < THREADS; i++)
            feed(timeline, i, k % 2 == 0 ? TG_EVENT_MPI_ENTER : TG_EVENT_MPI_LEAVE, now += 100000);
    assert_true(tg_timeline_bytes(timeline) < (size_t)BUCKETS * 8 * 3 / 2 + (size_t)THREADS * 32 * 8);
    tg_timeline_destroy(timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_kept_however_often_buckets_are_joined),
        cmocka_unit_test(a_row_ends_with_its_process_and_a_used_pid_is_another_one),
        cmocka_unit_test(marks_are_bounded_and_found_by_time),
        cmocka_unit_test(of_many_messages_some_are_kept),
        cmocka_unit_test(events_out_of_order_do_no_harm),
        cmocka_unit_test(many_rows_take_no_more_memory_than_their_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
