#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/agent/contract.h"
#include "recorder/rings/event_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOLD = 100000 };

struct told {
    uint64_t time_ns;
    uint64_t value; /* of the record's argument, or UINT64_MAX for an event */
    void *source;
};

struct fixture {
    struct tg_tick_clock *clock;
    struct tg_event_queue *queue;
    struct tg_event_merge *merge;
    struct told *told;
    size_t n_told, n_runs;
    unsigned kind,
        step; /* of the records that are added, and by how much each one's value is more than that before */
};

static void take_record(void *context, void *source, uint64_t time_ns, uint64_t *record)
{
    struct fixture *fixture = context;
    assert_true(fixture->n_told < MAX_TOLD);
    fixture->told[fixture->n_told++] = (struct told){time_ns, record[2], source};
}

static void take_event(void *context, const struct tg_event *event)
{
    struct fixture *fixture = context;
    assert_true(fixture->n_told < MAX_TOLD);
    fixture->told[fixture->n_told++] = (struct told){event->time_ns, UINT64_MAX, NULL};
    assert_string_equal(event->note.text, "of the engine");
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    fixture->told = calloc(MAX_TOLD, sizeof *fixture->told);
    fixture->kind = TG_RECORD_LOST;
    fixture->step = 1;
    const struct tg_merge_sink sink = {.context = fixture, .record = take_record, .event = take_event};
    if (tg_tick_clock_create(TG_AGENT_CLOCK_TSC, &fixture->clock) != NULL ||
        tg_event_queue_create(0, &fixture->queue) != NULL ||
        tg_event_merge_create(fixture->clock, fixture->queue, &sink, &fixture->merge) != NULL)
        return -1;
    /* two ticks are one ns */
    tg_tick_clock_add(fixture->clock, (struct tg_tick_pair){.ticks = 1000, .time_ns = 0});
    tg_tick_clock_add(fixture->clock, (struct tg_tick_pair){.ticks = 1000 + 2000000, .time_ns = 1000000});
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    tg_event_merge_destroy(fixture->merge);
    tg_event_queue_destroy(fixture->queue);
    tg_tick_clock_destroy(fixture->clock);
    free(fixture->told);
    free(fixture);
    return 0;
}

static struct tg_merge_ring *add_ring(struct fixture *fixture, void *source)
{
    struct tg_merge_ring *ring = NULL;
    assert_null(tg_event_merge_add_ring(fixture->merge, source, &ring));
    return ring;
}

/* COUNT records with the given times in one block. */
static void add(struct fixture *fixture, struct tg_merge_ring *ring, const uint64_t *times_ns, size_t count,
                uint64_t value)
{
    uint64_t *words = calloc(count, 32), last_ticks = 0;
    for (size_t i = 0; i < count; i++) {
        words[4 * i] = 1000 + 2 * times_ns[i];
        last_ticks = words[4 * i] > last_ticks ? words[4 * i] : last_ticks;
        words[4 * i + 1] = fixture->kind | 4 << TG_AGENT_WORDS_SHIFT;
        words[4 * i + 2] = value + i * fixture->step;
    }
    assert_null(tg_event_merge_add(fixture->merge, ring, words, count * 32, last_ticks));
    free(words);
}

static void add_event(struct fixture *fixture, uint64_t time_ns)
{
    const struct tg_event event = {
        .kind = TG_EVENT_NOTE, .time_ns = time_ns, .note = {.text = "of the engine"}};
    tg_event_queue_add(fixture->queue, &event);
}

static void expect_times(struct fixture *fixture, const uint64_t *times_ns, size_t count)
{
    assert_int_equal(fixture->n_told, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(fixture->told[i].time_ns, times_ns[i]);
    fixture->n_told = 0;
}
#define TIMES(...) ((const uint64_t[]){__VA_ARGS__}), sizeof((const uint64_t[]){__VA_ARGS__}) / 8

static void everything_comes_in_the_order_of_time(void **state)
{
    struct fixture *fixture = *state;
    int sources[2];
    struct tg_merge_ring *a = add_ring(fixture, &sources[0]), *b = add_ring(fixture, &sources[1]);
    add_event(fixture, 5);
    add_event(fixture, 20);
    add_event(fixture, 90);
    add(fixture, a, TIMES(10, 20, 30, 80), 100);
    add(fixture, b, TIMES(15, 25, 26, 27, 70), 200);
    assert_int_equal(tg_event_merge_last_ns(fixture->merge, a), 80);
    assert_true(tg_event_merge_tell(fixture->merge, 1000, UINT64_MAX));
    assert_ptr_equal(fixture->told[1].source, &sources[0]);
    assert_int_equal(fixture->told[3].value, UINT64_MAX); /* the event first, of the same time */
    assert_int_equal(fixture->told[4].value, 101);
    expect_times(fixture, TIMES(5, 10, 15, 20, 20, 25, 26, 27, 30, 70, 80, 90));
    struct tg_merge_stats stats = tg_event_merge_stats(fixture->merge);
    assert_int_equal(stats.records, 9);
    assert_int_equal(stats.events, 3);
    assert_int_equal(stats.out_of_order, 0);
    assert_int_equal(stats.held_bytes, 0);
    assert_true(tg_merge_ring_is_empty(a));
    assert_int_equal(tg_event_merge_told_ns(fixture->merge), 90);
}

/* Takes what may be told of records that repeat one, one ring's after the other's, but no record of an odd value where it comes first. */
static void take_runs(void *context, struct tg_merge_run *run)
{
    struct fixture *fixture = context;
    uint64_t time_ns;
    fixture->n_runs++;
    do
        while (tg_merge_run_next(run, &time_ns) && run->n_words >= 4 &&
               (run->records[1] & 0xff) == TG_RECORD_AGAIN && run->records[2] % 2 == 0) {
            fixture->told[fixture->n_told++] = (struct told){time_ns, run->records[2], run->source};
            tg_merge_run_told(run, 4, time_ns);
        }
    while (tg_merge_run_turn(run));
}

/* Takes those of even values, and says so of the others. */
static void take_even(void *context, struct tg_merge_run *run)
{
    struct fixture *fixture = context;
    uint64_t time_ns;
    fixture->n_runs++;
    do
        while (tg_merge_run_next(run, &time_ns)) {
            run->is_refused = run->records[2] % 2 != 0;
            if (run->is_refused)
                break;
            fixture->told[fixture->n_told++] = (struct told){time_ns, run->records[2], run->source};
            tg_merge_run_told(run, 4, time_ns);
        }
    while (tg_merge_run_turn(run));
}

static void a_refused_record_is_told_by_itself_and_not_offered_again(void **state)
{
    struct fixture *fixture = *state;
    const struct tg_merge_sink sink = {
        .context = fixture, .record = take_record, .run = take_even, .event = take_event};
    tg_event_merge_destroy(fixture->merge);
    assert_null(tg_event_merge_create(fixture->clock, fixture->queue, &sink, &fixture->merge));
    int sources[2];
    struct tg_merge_ring *a = add_ring(fixture, &sources[0]), *b = add_ring(fixture, &sources[1]);
    fixture->kind = TG_RECORD_AGAIN;
    add(fixture, a, TIMES(10, 20, 30, 40, 50), 100);
    fixture->step = 2;
    add(fixture, b, TIMES(20, 45), 200);
    assert_true(tg_event_merge_tell(fixture->merge, 1000, UINT64_MAX));
    assert_int_equal(fixture->n_runs, 3);
    expect_times(fixture, TIMES(10, 20, 20, 30, 40, 45, 50));
    assert_int_equal(tg_event_merge_stats(fixture->merge).records, 7);
}

static void runs_go_on_with_the_ring_that_is_next(void **state)
{
    struct fixture *fixture = *state;
    const struct tg_merge_sink sink = {
        .context = fixture, .record = take_record, .run = take_runs, .event = take_event};
    tg_event_merge_destroy(fixture->merge);
    assert_null(tg_event_merge_create(fixture->clock, fixture->queue, &sink, &fixture->merge));
    int sources[2];
    struct tg_merge_ring *a = add_ring(fixture, &sources[0]), *b = add_ring(fixture, &sources[1]);
    fixture->kind = TG_RECORD_AGAIN;
    fixture->step = 0;
    add(fixture, a, TIMES(10, 20, 30, 80, 90), 100);
    add(fixture, b, TIMES(15, 25, 26, 27, 70), 200);
    add(fixture, b, TIMES(71, 95), 202);
    assert_true(tg_event_merge_tell(fixture->merge, 60, UINT64_MAX));
    assert_int_equal(fixture->n_runs, 1); /* of both */
    assert_ptr_equal(fixture->told[1].source, &sources[1]);
    expect_times(fixture, TIMES(10, 15, 20, 25, 26, 27, 30));
    add_event(fixture, 75);
    add(fixture, a, TIMES(96, 97), 301); /* told by themselves */
    assert_true(tg_event_merge_tell(fixture->merge, 1000, UINT64_MAX));
    assert_int_equal(fixture->told[2].value, UINT64_MAX);
    assert_ptr_equal(fixture->told[7].source, &sources[0]);
    expect_times(fixture, TIMES(70, 71, 75, 80, 90, 95, 96, 97));
    struct tg_merge_stats stats = tg_event_merge_stats(fixture->merge);
    assert_int_equal(stats.records, 14);
    assert_int_equal(stats.held_bytes, 0);
    assert_true(tg_merge_ring_is_empty(a) && tg_merge_ring_is_empty(b));
    assert_int_equal(tg_event_merge_told_ns(fixture->merge), 97);
}

static void runs_end_after_as_many_as_were_asked_for(void **state)
{
    struct fixture *fixture = *state;
    const struct tg_merge_sink sink = {
        .context = fixture, .record = take_record, .run = take_runs, .event = take_event};
    tg_event_merge_destroy(fixture->merge);
    assert_null(tg_event_merge_create(fixture->clock, fixture->queue, &sink, &fixture->merge));
    int sources[2];
    struct tg_merge_ring *a = add_ring(fixture, &sources[0]), *b = add_ring(fixture, &sources[1]);
    fixture->kind = TG_RECORD_AGAIN;
    fixture->step = 0;
    add(fixture, a, TIMES(10, 20, 30, 40), 100);
    add(fixture, b, TIMES(15, 25, 35), 200);
    size_t told = 0;
    for (int turn = 0; turn < 3; turn++) {
        bool all = tg_event_merge_tell(fixture->merge, 1000, 3);
        assert_int_equal(all, turn == 2);
        assert_true(fixture->n_told - told <= 3 && fixture->n_told > told);
        told = fixture->n_told;
    }
    expect_times(fixture, TIMES(10, 15, 20, 25, 30, 35, 40));
}

static void see_record(void *context, uint64_t time_ns, const uint64_t *record)
{
    struct fixture *fixture = context;
    fixture->told[fixture->n_told++] = (struct told){time_ns, record[2], NULL};
}

static void what_a_ring_holds_can_be_looked_at(void **state)
{
    struct fixture *fixture = *state;
    struct tg_merge_ring *a = add_ring(fixture, NULL), *b = add_ring(fixture, NULL);
    add(fixture, a, TIMES(10, 20, 30), 1);
    add(fixture, b, TIMES(15, 25), 1);
    assert_true(tg_event_merge_tell(fixture->merge, 10, UINT64_MAX));
    expect_times(fixture, TIMES(10));
    add(fixture, a, TIMES(60, 50), 1); /* a time that is earlier, and another block */
    tg_event_merge_visit(fixture->merge, a, 0, see_record, fixture);
    expect_times(fixture, TIMES(20, 30, 60, 50));
    tg_event_merge_visit(fixture->merge, a, 30, see_record, fixture);
    assert_int_equal(fixture->told[0].value, 3);
    expect_times(fixture, TIMES(30, 60, 50));
    assert_true(tg_event_merge_tell(fixture->merge, 1000, UINT64_MAX));
    expect_times(fixture, TIMES(15, 20, 25, 30, 60, 50));
    tg_event_merge_visit(fixture->merge, a, 0, see_record, fixture);
    expect_times(fixture, NULL, 0);
}

static void what_is_later_waits(void **state)
{
    struct fixture *fixture = *state;
    struct tg_merge_ring *a = add_ring(fixture, NULL), *b = add_ring(fixture, NULL);
    add(fixture, a, TIMES(10, 50), 1);
    add_event(fixture, 30);
    add_event(fixture, 60);
    assert_true(tg_event_merge_tell(fixture->merge, 40, UINT64_MAX));
    expect_times(fixture, TIMES(10, 30));
    assert_false(tg_merge_ring_is_empty(a));
    /* published late, and still in order */
    add(fixture, b, TIMES(45), 1);
    add(fixture, a, TIMES(55), 1);
    assert_true(tg_event_merge_tell(fixture->merge, 60, UINT64_MAX));
    expect_times(fixture, TIMES(45, 50, 55, 60));
    assert_int_equal(tg_event_merge_stats(fixture->merge).out_of_order, 0);
}

static void what_comes_too_late_is_told_with_its_own_time_and_counted(void **state)
{
    struct fixture *fixture = *state;
    struct tg_merge_ring *a = add_ring(fixture, NULL), *b = add_ring(fixture, NULL);
    add(fixture, a, TIMES(10, 50), 1);
    tg_event_merge_tell(fixture->merge, 60, UINT64_MAX);
    add(fixture, b, TIMES(20, 30, 70), 1);
    tg_event_merge_tell(fixture->merge, 100, UINT64_MAX);
    expect_times(fixture, TIMES(10, 50, 20, 30, 70));
    assert_int_equal(tg_event_merge_stats(fixture->merge).out_of_order, 2);
}

static void a_ring_whose_times_fall_is_told_as_it_is(void **state)
{
    struct fixture *fixture = *state;
    struct tg_merge_ring *a = add_ring(fixture, NULL), *b = add_ring(fixture, NULL);
    add(fixture, a, TIMES(50, 60, 10), 1);
    add(fixture, b, TIMES(20, 55), 1);
    assert_int_equal(tg_event_merge_last_ns(fixture->merge, a), 60); /* telling up to there empties it */
    tg_event_merge_tell(fixture->merge, 60, UINT64_MAX);
    assert_true(tg_merge_ring_is_empty(a));
    assert_int_equal(tg_event_merge_last_ns(fixture->merge, a), 0);
    expect_times(fixture, TIMES(20, 50, 55, 60, 10));
    assert_int_equal(tg_event_merge_stats(fixture->merge).out_of_order, 1);
}

static void a_limit_of_records_ends_it_and_it_goes_on_there(void **state)
{
    struct fixture *fixture = *state;
    struct tg_merge_ring *a = add_ring(fixture, NULL), *b = add_ring(fixture, NULL);
    add(fixture, a, TIMES(1, 3, 5, 7), 1);
    add(fixture, b, TIMES(2, 4, 6, 8), 1);
    for (int i = 0; i < 3; i++)
        assert_false(tg_event_merge_tell(fixture->merge, 100, 2));
    assert_false(tg_event_merge_tell(fixture->merge, 100, 1));
    assert_true(tg_event_merge_tell(fixture->merge, 100, 1));
    expect_times(fixture, TIMES(1, 2, 3, 4, 5, 6, 7, 8));
}

static void the_end_tells_even_what_lies_beyond_the_clock(void **state)
{
    struct fixture *fixture = *state;
    struct tg_merge_ring *a = add_ring(fixture, NULL);
    add(fixture, a, TIMES(2000000), 1);
    add_event(fixture, 3000000);
    tg_event_merge_tell(fixture->merge, 1000000, UINT64_MAX);
    assert_int_equal(fixture->n_told, 0);
    tg_event_merge_tell(fixture->merge, UINT64_MAX, UINT64_MAX);
    expect_times(fixture, TIMES(2000000, 3000000));
}

/* Against sorting: many rings in many blocks, rings that come and go. */
/* A drain that may take no more tells up to the time of its first record, again and again until it is told. */
static void the_first_record_is_told_when_its_time_has_come(void **state)
{
    struct fixture *fixture = *state;
    int source;
    struct tg_merge_ring *ring = add_ring(fixture, &source);
    uint64_t words[] = {1000 + 2 * 10 + 1, TG_RECORD_LOST | 4 << TG_AGENT_WORDS_SHIFT, 7,
                        0}; /* the second tick of its ns */
    assert_null(tg_event_merge_add(fixture->merge, ring, words, sizeof words, words[0]));
    assert_int_equal(tg_event_merge_last_ns(fixture->merge, ring), 10);
    assert_true(tg_event_merge_tell(fixture->merge, 9, 1000));
    assert_int_equal(fixture->n_told, 0);
    assert_true(tg_event_merge_tell(fixture->merge, 10, 1000));
    expect_times(fixture, TIMES(10));
    add(fixture, ring, TIMES(1000005), 8); /* beyond the clock's last pair */
    assert_true(tg_event_merge_tell(fixture->merge, 1000004, 1000));
    assert_int_equal(fixture->n_told, 0);
    assert_true(tg_event_merge_tell(fixture->merge, 1000005, 1000));
    expect_times(fixture, TIMES(1000005));
}

static void many_rings_are_merged_like_sorting_would(void **state)
{
    struct fixture *fixture = *state;
    enum { RINGS = 150, ROUNDS = 40 };
    struct tg_merge_ring *rings[RINGS];
    uint64_t times[RINGS] = {0};
    size_t added = 0;
    srand(11);
    for (int i = 0; i < RINGS; i++)
        rings[i] = add_ring(fixture, NULL);
    for (int round = 1; round <= ROUNDS; round++) {
        uint64_t until_ns = (uint64_t)round * 10000;
        for (int i = 0; i < RINGS; i++) {
            uint64_t block[8];
            size_t n = (size_t)rand() % 8;
            for (size_t k = 0; k < n; k++)
                block[k] = times[i] += (uint64_t)rand() % 2500;
            if (n > 0)
                add(fixture, rings[i], block, n, 0);
            added += n;
        }
        /* nothing that is added later is earlier than the slowest ring */
        for (int i = 0; i < RINGS; i++)
            until_ns = times[i] < until_ns ? times[i] : until_ns;
        assert_true(tg_event_merge_tell(fixture->merge, until_ns > 0 ? until_ns - 1 : 0, UINT64_MAX));
        int k = rand() % RINGS;
        if (tg_merge_ring_is_empty(rings[k])) {
            tg_event_merge_remove_ring(fixture->merge, rings[k]);
            rings[k] = add_ring(fixture, NULL);
        }
    }
    tg_event_merge_tell(fixture->merge, UINT64_MAX, UINT64_MAX);
    assert_int_equal(fixture->n_told, added);
    for (size_t i = 1; i < fixture->n_told; i++)
        assert_true(fixture->told[i - 1].time_ns <= fixture->told[i].time_ns);
    assert_int_equal(tg_event_merge_stats(fixture->merge).out_of_order, 0);
    assert_int_equal(tg_event_merge_stats(fixture->merge).held_bytes, 0);
}

static void a_full_queue_counts_what_it_does_not_take(void **state)
{
    (void)state;
    struct tg_event_queue *queue = NULL;
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const struct tg_event event = {.kind = TG_EVENT_NOTE, .note = {.text = text}};
    assert_null(tg_event_queue_create(100000, &queue));
    assert_null(tg_event_queue_first(queue));
    uint64_t came = 0, lost;
    for (int i = 0; i < 1000; i++)
        tg_event_queue_add(queue, &event);
    lost = tg_event_queue_take_lost(queue);
    assert_in_range(lost, 900, 999);
    assert_int_equal(tg_event_queue_take_lost(queue), 0);
    for (const struct tg_event *first; (first = tg_event_queue_first(queue)) != NULL; came++) {
        assert_string_equal(first->note.text, text);
        tg_event_queue_pop(queue);
    }
    assert_int_equal(came, 1000 - lost);
    tg_event_queue_add(queue, &event); /* there is room again */
    assert_non_null(tg_event_queue_first(queue));
    assert_int_equal(tg_event_queue_take_lost(queue), 0);
    tg_event_queue_destroy(queue);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everything_comes_in_the_order_of_time),
        TEST(runs_go_on_with_the_ring_that_is_next),
        TEST(runs_end_after_as_many_as_were_asked_for),
        TEST(a_refused_record_is_told_by_itself_and_not_offered_again),
        TEST(what_is_later_waits),
        TEST(what_a_ring_holds_can_be_looked_at),
        TEST(what_comes_too_late_is_told_with_its_own_time_and_counted),
        TEST(a_ring_whose_times_fall_is_told_as_it_is),
        TEST(a_limit_of_records_ends_it_and_it_goes_on_there),
        TEST(the_end_tells_even_what_lies_beyond_the_clock),
        TEST(the_first_record_is_told_when_its_time_has_come),
        TEST(many_rings_are_merged_like_sorting_would),
        cmocka_unit_test(a_full_queue_counts_what_it_does_not_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
