#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine.h"
#include "tests/support/drain_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static size_t count_texts(const struct drain_fixture *fixture, const char *part)
{
    size_t n = 0;
    for (size_t i = 0; i < fixture->n_texts; i++)
        n += strstr(fixture->texts[i], part) != NULL;
    return n;
}

static void expect_text(const struct drain_fixture *fixture, const char *part)
{
    if (count_texts(fixture, part) != 1)
        fail_msg("%zu texts have \"%s\"", count_texts(fixture, part), part);
}

static void wait_until_gone(const struct drain_fixture *fixture, const char *name)
{
    while (faccessat(fixture->fd, name, F_OK, 0) == 0)
        sched_yield();
}

static void add_note(const struct drain_fixture *fixture, uint64_t time_ns)
{
    const struct tg_event event = {.kind = TG_EVENT_NOTE, .time_ns = time_ns, .note = {.text = "engine"}};
    tg_agent_drain_add(fixture->drain, &event);
}

struct worker {
    const struct drain_fixture *fixture;
    unsigned number;
    pthread_t thread;
};
enum { WORKERS = 4, TASKS = 100000 };

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct ring_producer producer;
    drain_fixture_make_ring(worker->fixture, &producer, getpid(), worker->number);
    for (uint64_t task = 0; task < TASKS; task++)
        drain_fixture_put_task(worker->fixture, &producer, worker->number, task);
    __atomic_store_n(&producer.header->state, TG_AGENT_RING_CLOSED, __ATOMIC_RELEASE);
    ring_producer_deinit(&producer);
    return NULL;
}

/* Some with more than fits their rings by far, and the engine beside them. */
static void everything_arrives_in_order(void **state)
{
    struct drain_fixture *fixture = *state;
    struct worker workers[WORKERS];
    __atomic_store_n(&fixture->unwritten, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.fixture = fixture, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 20000; i++)
        add_note(fixture, tg_engine_now_ns());
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    struct tg_agent_drain_stats stats;
    tg_agent_drain_finish(fixture->drain, &stats);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(fixture->next[i], TASKS);
    assert_int_equal(fixture->notes, 20000);
    assert_int_equal(fixture->lost, 0);
    assert_int_equal(stats.records, WORKERS * TASKS);
    assert_int_equal(stats.rings, WORKERS);
    assert_int_equal(stats.programs, 1);
    assert_int_equal(fixture->out_of_order, stats.out_of_order);
    expect_text(fixture, "watching");
    for (unsigned i = 0; i < WORKERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "ring.%d.%u", getpid(), i);
        /* even one that closed long ago goes when the trace is written */
        assert_int_equal(faccessat(fixture->fd, name, F_OK, 0), 0);
    }
}

static void rings_of_processes_that_have_gone_are_removed(void **state)
{
    struct drain_fixture *fixture = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct ring_producer producer;
        drain_fixture_make_ring(fixture, &producer, getpid(), 0);
        for (uint64_t task = 0; task < 10; task++)
            drain_fixture_put_task(fixture, &producer, 0, task);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    char name[32];
    snprintf(name, sizeof name, "ring.%d.0", child);
    wait_until_gone(fixture, name);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->next[0], 10);
}

static void a_ring_that_was_closed_is_removed_while_its_process_lives(void **state)
{
    struct drain_fixture *fixture = *state;
    struct ring_producer producer;
    drain_fixture_make_ring(fixture, &producer, getpid(), 0);
    drain_fixture_put_task(fixture, &producer, 0, 0);
    producer.header->lost = 4; /* more than its records said */
    RING_PUT(&producer, TG_RECORD_LOST, tg_tick_clock_now(fixture->clock), 1);
    __atomic_store_n(&producer.header->state, TG_AGENT_RING_CLOSED, __ATOMIC_RELEASE);
    wait_until_gone(fixture, producer.name);
    tg_agent_drain_finish(fixture->drain, NULL);
    ring_producer_deinit(&producer);
    assert_int_equal(fixture->next[0], 1);
    assert_int_equal(fixture->lost, 4);
    expect_text(fixture, "the thread's ring was full");
    expect_text(fixture, ".0 was full");
}

static void a_program_that_is_replaced_ends_its_rings(void **state)
{
    struct drain_fixture *fixture = *state;
    struct ring_producer before, after;
    drain_fixture_make_ring(fixture, &before, getpid(), 0);
    drain_fixture_put_task(fixture, &before, 0, 0);
    drain_fixture_wait_until_taken(&before);
    ring_producer_init(&after, fixture->fd, getpid(), 1, DRAIN_FIXTURE_DATA, 1);
    drain_fixture_announce(fixture);
    drain_fixture_put_task(fixture, &after, 1, 0);
    wait_until_gone(fixture, before.name);
    assert_int_equal(faccessat(fixture->fd, after.name, F_OK, 0), 0);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->next[0], 1);
    assert_int_equal(fixture->next[1], 1);
    assert_int_equal(count_texts(fixture, "watching"), 2);
    ring_producer_deinit(&before);
    ring_producer_deinit(&after);
}

static void what_cannot_be_read_is_said_once_and_the_rest_goes_on(void **state)
{
    struct drain_fixture *fixture = *state;
    struct ring_producer good, bad, open_to_all;
    drain_fixture_make_ring(fixture, &good, getpid(), 0);
    drain_fixture_make_ring(fixture, &bad, getpid(), 1);
    /* made one folder below: among the rings the drain may find it while its mode is still right */
    assert_int_equal(mkdirat(fixture->fd, "below", 0700), 0);
    int below = openat(fixture->fd, "below", O_RDONLY | O_DIRECTORY);
    ring_producer_init(&open_to_all, below, getpid(), 2, DRAIN_FIXTURE_DATA, 1);
    assert_int_equal(fchmodat(below, open_to_all.name, 0666, 0), 0);
    assert_int_equal(renameat(below, open_to_all.name, fixture->fd, open_to_all.name), 0);
    close(below);
    assert_int_equal(unlinkat(fixture->fd, "below", AT_REMOVEDIR), 0);
    drain_fixture_announce(fixture);
    for (uint64_t task = 0; task < 100; task++) {
        drain_fixture_put_task(fixture, &good, 0, task);
        __atomic_store_n(&bad.header->head, 7 + task * 1234567, __ATOMIC_RELEASE);
        if (task % 10 == 0)
            drain_fixture_wait_until_taken(&good);
    }
    RING_PUT(&good, 77, tg_tick_clock_now(fixture->clock), 1); /* of no known kind */
    RING_PUT(&good, TG_RECORD_MPI_ENTER, tg_tick_clock_now(fixture->clock), 1);
    RING_PUT(&good, TG_RECORD_OMP_TASK_BEGIN, UINT64_MAX, 0, 100);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->next[0], 101);
    expect_text(fixture, ".1: positions");
    expect_text(fixture, ".2: not a private file of this user");
    expect_text(fixture, "unknown kinds");
    expect_text(fixture, "missing arguments");
    expect_text(fixture, "1 records with impossible times");
    ring_producer_deinit(&good);
    ring_producer_deinit(&bad);
    ring_producer_deinit(&open_to_all);
}

static void what_found_no_ring_is_told(void **state)
{
    struct drain_fixture *fixture = *state;
    const uint32_t unkept = 31;
    int fd = openat(fixture->fd, "control", O_RDWR);
    assert_int_equal(pwrite(fd, &unkept, sizeof unkept, offsetof(struct tg_agent_control, unkept)),
                     sizeof unkept);
    close(fd);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->lost, 31);
    expect_text(fixture, "no ring could be created");
}

/* A stop that takes longer than records are held back: its events still come first. */
static void a_stop_in_progress_holds_back_what_comes_after_it(void **state)
{
    struct drain_fixture *fixture = *state;
    struct ring_producer producer;
    uint64_t stop_ns = tg_engine_now_ns(), task = 0;
    tg_agent_drain_hold(fixture->drain, stop_ns);
    drain_fixture_make_ring(fixture, &producer, getpid(), 0);
    while (tg_engine_now_ns() < stop_ns + 4 * tg_agent_drain_hold_ns) {
        drain_fixture_put_task(fixture, &producer, 0, task++);
        drain_fixture_wait_until_taken(&producer);
    }
    assert_int_equal(__atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE), 0);
    add_note(fixture, stop_ns);
    tg_agent_drain_hold(fixture->drain, UINT64_MAX);
    struct tg_agent_drain_stats stats;
    tg_agent_drain_finish(fixture->drain, &stats);
    assert_int_equal(fixture->next[0], task);
    assert_int_equal(fixture->notes, 1);
    assert_int_equal(stats.out_of_order, 0);
    assert_int_equal(fixture->out_of_order, 0);
    ring_producer_deinit(&producer);
}

/* Without rings nothing is looked at again and again; an event, and a ring, end the rest. */
static void where_there_are_no_rings_the_drain_rests(void **state)
{
    const struct timespec long_enough = {.tv_nsec = 200 * 1000 * 1000}; /* four rounds, were there any */
    struct drain_fixture *fixture = *state;
    struct ring_producer producer;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t n_rounds;
        add_note(fixture, tg_engine_now_ns());
        while (__atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE) != i + 1)
            sched_yield();
        do {
            n_rounds = __atomic_load_n(&fixture->n_rounds, __ATOMIC_ACQUIRE);
            nanosleep(&long_enough, NULL);
        } while (__atomic_load_n(&fixture->n_rounds, __ATOMIC_ACQUIRE) != n_rounds);
    }
    drain_fixture_make_ring(fixture, &producer, getpid(), 0);
    drain_fixture_put_task(fixture, &producer, 0, 0);
    while (__atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE) < 4)
        sched_yield();
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->notes, 3);
    assert_int_equal(fixture->next[0], 1);
    ring_producer_deinit(&producer);
}

static void what_is_far_too_late_stands_out_of_order_and_is_counted(void **state)
{
    struct drain_fixture *fixture = *state;
    struct ring_producer producer;
    uint64_t early_ns = tg_engine_now_ns();
    drain_fixture_make_ring(fixture, &producer, getpid(), 0);
    for (uint64_t task = 0; __atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE) < 10; task++) {
        drain_fixture_put_task(fixture, &producer, 0, task); /* until some of them are out */
        drain_fixture_wait_until_taken(&producer);
    }
    add_note(fixture, early_ns);
    struct tg_agent_drain_stats stats;
    tg_agent_drain_finish(fixture->drain, &stats);
    assert_int_equal(stats.out_of_order, 1);
    assert_int_equal(fixture->out_of_order, 1);
    expect_text(fixture, "1 event came more than 20 ms late");
    ring_producer_deinit(&producer);
}

static void a_sink_that_is_behind_is_given_nothing(void **state)
{
    struct drain_fixture *fixture = *state;
    struct ring_producer producer;
    __atomic_store_n(&fixture->behind, true, __ATOMIC_RELEASE);
    drain_fixture_make_ring(fixture, &producer, getpid(), 0);
    uint64_t task = 0; /* until the ring is full */
    while (RING_PUT(&producer, TG_RECORD_OMP_TASK_BEGIN, tg_tick_clock_now(fixture->clock), 0, task))
        task++;
    assert_in_range(task, 1, 2 * DRAIN_FIXTURE_DATA / 32); /* one round may have been under way */
    __atomic_store_n(&fixture->behind, false, __ATOMIC_RELEASE);
    drain_fixture_wait_until_taken(&producer);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->next[0], task);
    ring_producer_deinit(&producer);
}

/* A console that waits for the tracer, which waits for the heap's records, reads no events meanwhile. */
static void who_settles_does_not_wait_for_who_reads(void **state)
{
    const uint64_t within_ns = 20000000000;
    struct drain_fixture *fixture = *state;
    struct ring_producer producer;
    __atomic_store_n(&fixture->is_reader, true, __ATOMIC_RELEASE);
    __atomic_store_n(&fixture->behind, true, __ATOMIC_RELEASE);
    drain_fixture_make_ring(fixture, &producer, getpid(), 0);
    assert_true(RING_PUT(&producer, TG_RECORD_OMP_TASK_BEGIN, tg_tick_clock_now(fixture->clock), 0, 0));
    assert_true(tg_agent_drain_settle(fixture->drain, UINT64_MAX, within_ns));
    assert_int_equal(fixture->next[0], 1);
    __atomic_store_n(&fixture->behind, false, __ATOMIC_RELEASE);
    tg_agent_drain_finish(fixture->drain, NULL);
    ring_producer_deinit(&producer);
}

struct foreseen {
    size_t n_allocs, n_frees, n_losses;
    uint64_t stack, address;
};

static void see(void *context, const struct tg_event *event)
{
    struct foreseen *seen = context;
    seen->n_frees += event->kind == TG_EVENT_HEAP_FREE;
    seen->n_losses += event->kind == TG_EVENT_LOSS && event->loss.source == TG_LOSS_RING;
    if (event->kind != TG_EVENT_HEAP_ALLOC)
        return;
    seen->n_allocs++;
    seen->stack = event->heap_alloc.stack;
    seen->address = event->heap_alloc.address;
}

static void put_heap(const struct drain_fixture *fixture, struct ring_producer *producer, unsigned kind,
                     const uint64_t *arguments, size_t n_arguments)
{
    assert_true(
        ring_producer_put(producer, kind, tg_tick_clock_now(fixture->clock), 0, arguments, n_arguments));
}
#define PUT_HEAP(producer, kind, ...)                                                                        \
    put_heap(fixture, producer, kind, (const uint64_t[]){__VA_ARGS__},                                       \
             sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Nothing can be told, because of a stop and because who reads is behind; what a process has done to its heap is known all
 * the same, and it is told once, with the same stacks. */
static void what_is_not_told_yet_is_foreseen(void **state)
{
    const uint64_t within_ns = 20000000000;
    struct drain_fixture *fixture = *state;
    struct ring_producer own[2], other;
    struct foreseen seen = {0};
    struct tg_ring_foresight foresight = {.pid = getpid(), .sink = {.context = &seen, .add = see}};
    drain_fixture_make_ring(fixture, &own[0], getpid(), 0);
    PUT_HEAP(&own[0], TG_RECORD_HEAP_STACK, 1, TG_STACK_WHOLE, 2, 0x1000, 0x2000);
    PUT_HEAP(&own[0], TG_RECORD_HEAP_ALLOC, 0x1001, 64 | UINT64_C(1) << 32);
    assert_true(tg_agent_drain_settle(fixture->drain, UINT64_MAX, within_ns));
    assert_int_equal(fixture->heap_frames, 2);

    tg_agent_drain_hold(fixture->drain, tg_engine_now_ns());
    __atomic_store_n(&fixture->is_reader, true, __ATOMIC_RELEASE);
    __atomic_store_n(&fixture->behind, true, __ATOMIC_RELEASE);
    foresight.since_ns = tg_engine_now_ns();
    drain_fixture_make_ring(fixture, &own[1], getpid(), 1);
    drain_fixture_make_ring(fixture, &other, 1, 0);
    PUT_HEAP(&own[0], TG_RECORD_HEAP_STACK, 2, TG_STACK_WHOLE, 3, 0x1000, 0x2000, 0x3000);
    PUT_HEAP(&own[1], TG_RECORD_HEAP_ALLOC, 0x1002, 64 | UINT64_C(2) << 32);
    PUT_HEAP(&own[1], TG_RECORD_HEAP_FREE, 0x1001, 0);
    PUT_HEAP(&other, TG_RECORD_HEAP_ALLOC, 0x1003, 64);
    assert_true(tg_agent_drain_foresee(fixture->drain, &foresight, within_ns));
    assert_true(seen.n_allocs == 1 && seen.n_frees == 1 && seen.n_losses == 0);
    assert_true(seen.address == 0x1002 && seen.stack != 0 && seen.stack != fixture->heap_stacks[1]);
    assert_true(fixture->heap_stacks[2] == 0 && foresight.told_ns != 0 &&
                foresight.told_ns <= foresight.since_ns);

    PUT_HEAP(&own[0], TG_RECORD_LOST, 3);
    foresight.since_ns = 0;
    assert_true(tg_agent_drain_foresee(fixture->drain, &foresight, within_ns));
    assert_true(seen.n_allocs == 2 && seen.n_losses == 1);
    tg_agent_drain_hold(fixture->drain, UINT64_MAX);
    __atomic_store_n(&fixture->behind, false, __ATOMIC_RELEASE);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->heap_stacks[2], seen.stack);
    assert_int_equal(fixture->heap_frames, 5);
    assert_int_equal(fixture->lost, 3);
    ring_producer_deinit(&own[0]);
    ring_producer_deinit(&own[1]);
    ring_producer_deinit(&other);
}

#define TEST(function)                                                                                       \
    cmocka_unit_test_setup_teardown(function, drain_fixture_set_up, drain_fixture_tear_down)
#define TEST_LATE(function)                                                                                  \
    {                                                                                                        \
        .name = #function ", late", .test_func = function, .setup_func = drain_fixture_set_up_late,          \
        .teardown_func = drain_fixture_tear_down                                                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everything_arrives_in_order),
        TEST_LATE(everything_arrives_in_order),
        TEST(rings_of_processes_that_have_gone_are_removed),
        TEST_LATE(rings_of_processes_that_have_gone_are_removed),
        TEST(a_ring_that_was_closed_is_removed_while_its_process_lives),
        TEST_LATE(a_ring_that_was_closed_is_removed_while_its_process_lives),
        TEST(a_program_that_is_replaced_ends_its_rings),
        TEST(what_cannot_be_read_is_said_once_and_the_rest_goes_on),
        TEST_LATE(what_cannot_be_read_is_said_once_and_the_rest_goes_on),
        TEST(what_found_no_ring_is_told),
        TEST(a_stop_in_progress_holds_back_what_comes_after_it),
        TEST_LATE(a_stop_in_progress_holds_back_what_comes_after_it),
        TEST(where_there_are_no_rings_the_drain_rests),
        TEST_LATE(where_there_are_no_rings_the_drain_rests),
        TEST(what_is_far_too_late_stands_out_of_order_and_is_counted),
        TEST(a_sink_that_is_behind_is_given_nothing),
        TEST_LATE(a_sink_that_is_behind_is_given_nothing),
        TEST(who_settles_does_not_wait_for_who_reads),
        TEST_LATE(who_settles_does_not_wait_for_who_reads),
        TEST(what_is_not_told_yet_is_foreseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
