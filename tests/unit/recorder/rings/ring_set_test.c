#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/rings/ring_set.h"
#include "tests/support/ring_producer.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DATA = 1 << 20, RINGS = 3 };

struct fixture {
    struct temporary temporary;
    int directory;
    struct tg_tick_clock *clock;
    struct tg_ring_set *set;
    struct ring_producer producers[RINGS];
    uint64_t next[RINGS]; /* task of each ring */
    uint64_t told, last_ns, out_of_order;
    struct tg_event_queue *queue;
    enum tg_event_kind kinds[8]; /* of what is no task */
    size_t n_kinds;
};

static void take_event(void *context, const struct tg_event *event)
{
    struct fixture *fixture = context;
    fixture->out_of_order += event->time_ns < fixture->last_ns;
    fixture->last_ns = event->time_ns;
    if (event->kind != TG_EVENT_OMP_TASK_BEGIN) {
        if (fixture->n_kinds < sizeof fixture->kinds / sizeof *fixture->kinds)
            fixture->kinds[fixture->n_kinds++] = event->kind;
        return;
    }
    assert_int_equal(event->omp_task_begin.task, fixture->next[event->omp_task_begin.code]);
    fixture->next[event->omp_task_begin.code]++;
    fixture->told++;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    temporary_init(&fixture->temporary);
    fixture->directory = open(fixture->temporary.directory, O_RDONLY | O_DIRECTORY);
    if (tg_tick_clock_create(TG_AGENT_CLOCK_MONOTONIC, &fixture->clock) != NULL)
        return -1;
    for (unsigned i = 0; i < RINGS; i++)
        ring_producer_init(&fixture->producers[i], fixture->directory, getpid(), i, DATA, 1);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    tg_ring_set_destroy(fixture->set);
    tg_event_queue_destroy(fixture->queue);
    for (unsigned i = 0; i < RINGS; i++)
        ring_producer_deinit(&fixture->producers[i]);
    tg_tick_clock_destroy(fixture->clock);
    close(fixture->directory);
    temporary_deinit(&fixture->temporary);
    free(fixture);
    return 0;
}

static void create_set(struct fixture *fixture, size_t max_bytes)
{
    const struct tg_ring_set_options options = {.directory_fd = fixture->directory,
                                                .clock = fixture->clock,
                                                .queue = fixture->queue,
                                                .sink = {.context = fixture, .add = take_event},
                                                .max_bytes = max_bytes};
    assert_null(tg_ring_set_create(&options, &fixture->set));
    tg_ring_set_scan(fixture->set);
}

/* Fills all rings, with times that go round, and closes them. Returns how many records that are. */
static uint64_t fill(struct fixture *fixture)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i / RINGS < DATA / 32; i++)
        n += RING_PUT(&fixture->producers[i % RINGS], TG_RECORD_OMP_TASK_BEGIN, i + 1, i % RINGS, i / RINGS);
    for (unsigned i = 0; i < RINGS; i++)
        __atomic_store_n(&fixture->producers[i].header->state, TG_AGENT_RING_CLOSED, __ATOMIC_RELEASE);
    return n;
}

/* However little may be held, what is told is complete and in order, and rings go when they are told. */
static void little_memory_costs_rounds_and_nothing_else(void **state)
{
    struct fixture *fixture = *state;
    create_set(fixture, 1 << 16);
    uint64_t n = fill(fixture);
    assert_int_equal(n, RINGS * (DATA / 32));
    uint64_t rounds = 0;
    struct tg_ring_round round;
    do {
        round = tg_ring_set_take(fixture->set);
        tg_ring_set_tell(fixture->set, round.order_ns == UINT64_MAX ? n : round.order_ns, 5000);
        tg_ring_set_reap(fixture->set);
        assert_in_range(rounds, 0, 10000);
        rounds++;
    } while (fixture->told < n);
    assert_true(rounds > 4);
    assert_int_equal(fixture->out_of_order, 0);
    assert_int_equal(tg_ring_set_stats(fixture->set).out_of_order, 0);
    for (int i = 0; i < 2; i++) {
        tg_ring_set_take(fixture->set);
        tg_ring_set_reap(fixture->set);
    }
    for (unsigned i = 0; i < RINGS; i++)
        assert_int_not_equal(faccessat(fixture->directory, fixture->producers[i].name, F_OK, 0), 0);
}

static void the_end_tells_all_of_it(void **state)
{
    struct fixture *fixture = *state;
    create_set(fixture, 1 << 16);
    uint64_t n = fill(fixture);
    tg_ring_set_finish(fixture->set);
    assert_int_equal(fixture->told, n);
    assert_int_equal(fixture->out_of_order, 0);
}

static void taking_little_at_a_time_is_as_complete(void **state)
{
    struct fixture *fixture = *state;
    create_set(fixture, 0);
    uint64_t n = fill(fixture);
    for (unsigned rounds = 0; fixture->told < n; rounds++) {
        struct tg_ring_round round = tg_ring_set_take_little(fixture->set);
        assert_true(round.taken_bytes <= RINGS << 18); /* a piece of each */
        tg_ring_set_tell(fixture->set, round.order_ns == UINT64_MAX ? n : round.order_ns, 4000);
        assert_in_range(rounds, 0, 10000);
    }
    assert_int_equal(fixture->out_of_order, 0);
    assert_int_equal(tg_ring_set_look(fixture->set).bytes, 0);
}

/* What a process that has gone leaves. */
static void leave_ring(struct fixture *fixture, int32_t pid, unsigned n)
{
    struct ring_producer producer;
    ring_producer_init(&producer, fixture->directory, pid, n, DATA, 2);
    assert_true(RING_PUT(&producer, TG_RECORD_OMP_TASK_BEGIN, 1, 0, n));
    ring_producer_deinit(&producer);
}

static void rings_that_nobody_writes_to_any_more_are_not_let_pile_up(void **state)
{
    struct fixture *fixture = *state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    create_set(fixture, 0);
    tg_ring_set_take(fixture->set);
    for (unsigned n = 0; n < 40; n++) {
        leave_ring(fixture, pid, n);
        tg_ring_set_scan(fixture->set);
        tg_ring_set_reap(fixture->set);
        assert_int_equal(tg_ring_set_look(fixture->set).fullest == 256, n >= 31); /* 32 MiB */
    }
}

static void rings_say_how_full_they_were(void **state)
{
    struct fixture *fixture = *state;
    create_set(fixture, 0);
    struct tg_ring_round round = tg_ring_set_take(fixture->set);
    assert_int_equal(round.fullest, 0);
    assert_int_equal(round.taken_bytes, 0);
    assert_int_equal(round.order_ns, UINT64_MAX);
    for (uint64_t i = 0; i < DATA / 32 / 4; i++)
        assert_true(RING_PUT(&fixture->producers[1], TG_RECORD_OMP_TASK_BEGIN, i + 1, 1, i));
    round = tg_ring_set_take(fixture->set);
    assert_int_equal(round.fullest, 64);
    assert_int_equal(round.taken_bytes, DATA / 4);
    assert_int_equal(round.order_ns, UINT64_MAX);
}

/* A kill in the middle of a load: what was loaded by then is told before the end of the process. */
static void what_a_kill_cut_short_is_told_before_the_end(void **state)
{
    struct fixture *fixture = *state;
    const struct tg_event end = {
        .kind = TG_EVENT_PROCESS_EXIT, .time_ns = 200, .pid = getpid(), .tid = getpid()};
    uint64_t opened[16] = {1, 0, 0, 7, 0x7000, 0x4000, 0};
    ring_string(opened + 10, "/lib/half.so");
    assert_null(tg_event_queue_create(0, &fixture->queue));
    create_set(fixture, 0);
    assert_true(ring_producer_put(&fixture->producers[0], TG_RECORD_LOADER_OPEN, 100, 0, opened, 16));
    tg_event_queue_add(fixture->queue, &end);
    tg_ring_set_finish(fixture->set);
    assert_int_equal(fixture->n_kinds, 3);
    assert_int_equal(fixture->kinds[0], TG_EVENT_AGENT);
    assert_int_equal(fixture->kinds[1], TG_EVENT_LIBRARY_LOAD);
    assert_int_equal(fixture->kinds[2], TG_EVENT_PROCESS_EXIT);
}

/* The same where the recorder was killed with the process, and others were told of later by then. */
static void what_a_kill_of_all_cut_short_is_told_in_order(void **state)
{
    struct fixture *fixture = *state;
    uint64_t opened[16] = {1, 0, 0, 7, 0x7000, 0x4000, 0};
    ring_string(opened + 10, "/lib/half.so");
    create_set(fixture, 0);
    assert_true(ring_producer_put(&fixture->producers[0], TG_RECORD_LOADER_OPEN, 100, 0, opened, 16));
    assert_true(RING_PUT(&fixture->producers[1], TG_RECORD_OMP_TASK_BEGIN, 200, 1, 0));
    tg_ring_set_finish(fixture->set);
    assert_int_equal(fixture->told, 1);
    assert_int_equal(fixture->kinds[fixture->n_kinds - 1], TG_EVENT_LIBRARY_LOAD);
    assert_int_equal(fixture->out_of_order, 0);
}

/* ---- what repeats */

struct seen {
    struct tg_event events[16];
    char reason[128];  /* of the last loss */
    bool is_again[16]; /* told with the place of the time before */
    size_t n_events;
};

static void see(void *context, const struct tg_event *event)
{
    struct seen *seen = context;
    if (event->kind == TG_EVENT_LOSS)
        snprintf(seen->reason, sizeof seen->reason, "%s", event->loss.reason);
    else if (event->kind != TG_EVENT_AGENT && seen->n_events < sizeof seen->events / sizeof *seen->events)
        seen->events[seen->n_events++] = *event;
}

static void see_again(void *context, const struct tg_event *event, struct tg_event_place *place)
{
    struct seen *seen = context;
    seen->is_again[seen->n_events] = place->chunk != 0 && place->changed == 0;
    *place = (struct tg_event_place){.chunk = 1};
    see(context, event);
}

static void begin_to_see(struct fixture *fixture, struct seen *seen)
{
    const struct tg_ring_set_options options = {
        .directory_fd = fixture->directory,
        .clock = fixture->clock,
        .sink = {.context = seen, .add = see, .add_again = see_again}};
    assert_null(tg_ring_set_create(&options, &fixture->set));
    tg_ring_set_scan(fixture->set);
}

static void take_and_tell(struct fixture *fixture)
{
    tg_ring_set_take(fixture->set);
    assert_true(tg_ring_set_tell(fixture->set, UINT64_MAX, UINT64_MAX));
}

static void assert_enters(const struct seen *seen, size_t i, uint64_t time_ns, uint64_t lock)
{
    assert_true(i < seen->n_events);
    assert_int_equal(seen->events[i].kind, TG_EVENT_OMP_MUTEX_ENTER);
    assert_int_equal(seen->events[i].time_ns, time_ns);
    assert_int_equal(seen->events[i].pid, getpid());
    assert_int_equal(seen->events[i].omp_mutex_enter.lock, lock);
}

static void a_record_that_comes_again_is_told_again(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer *ring = &fixture->producers[0];
    struct seen seen = {0};
    const uint64_t first[] = {0x401000, 0x5000}, second[] = {0x401000, 0x6000};
    begin_to_see(fixture, &seen);
    ring_producer_fill(ring, 3, 1, TG_RECORD_OMP_MUTEX_ENTER, first, 2);
    ring_producer_put(ring, TG_RECORD_OMP_MUTEX_ENTER, 10, 0, first, 2);
    for (uint64_t i = 1; i < 4; i++)
        assert_true(ring_producer_again(ring, 3, 1, 0, 10 + i));
    take_and_tell(fixture);
    for (uint64_t i = 0; i < 4; i++)
        assert_enters(&seen, i, 10 + i, 0x5000);
    /* what was taken stays as it was, whatever becomes of its place; what is taken then is the new one */
    ring_producer_again(ring, 3, 1, 0, 20);
    tg_ring_set_take(fixture->set);
    ring_producer_fill(ring, 3, 2, TG_RECORD_OMP_MUTEX_ENTER, second, 2);
    ring_producer_again(ring, 3, 2, 0, 21);
    ring_producer_again(ring, 3, 2, 0, 22);
    take_and_tell(fixture);
    assert_int_equal(seen.n_events, 7);
    assert_enters(&seen, 4, 20, 0x5000);
    assert_enters(&seen, 5, 21, 0x6000);
    assert_enters(&seen, 6, 22, 0x6000);
    assert_string_equal(seen.reason, "");
}

static void a_record_that_comes_again_says_its_number(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer *ring = &fixture->producers[0];
    struct seen seen = {0};
    const uint64_t enter[] = {0, 0x77, 1000, 0, 0, 0, 64, 0x401000};
    const uint64_t end[] = {0x401000, UINT64_C(1) << 63 | 7}; /* a cancelled barrier */
    const uint64_t numbers[] = {5, 0, 6, (1 << 20) - 1, 0};
    begin_to_see(fixture, &seen);
    ring_producer_fill(ring, 127, 0xffff, TG_RECORD_MPI_ENTER, enter, 8);
    ring_producer_fill(ring, 2, 1, TG_RECORD_OMP_SYNC_END, end, 2);
    for (uint64_t i = 0; i < 5; i++) {
        assert_true(ring_producer_again(ring, 127, 0xffff, numbers[i], 10 + 2 * i));
        assert_true(ring_producer_again(ring, 2, 1, numbers[i], 11 + 2 * i));
    }
    take_and_tell(fixture);
    assert_int_equal(seen.n_events, 10);
    for (uint64_t i = 0; i < 5; i++) {
        const struct tg_event *entered = &seen.events[2 * i], *ended = entered + 1;
        assert_int_equal(entered->kind, TG_EVENT_MPI_ENTER);
        assert_int_equal(entered->mpi_enter.comm, 0x77);
        assert_int_equal(entered->mpi_enter.instance, 1000 + numbers[i]);
        assert_int_equal(entered->mpi_enter.bytes, 64);
        assert_int_equal(ended->kind, TG_EVENT_OMP_SYNC_END);
        assert_int_equal(ended->omp_sync_end.instance, 7 + numbers[i]);
        assert_int_equal(ended->omp_sync_end.cancelled, 1);
    }
    assert_string_equal(seen.reason, "");
}

/* What differs in its time alone is where it was: a message's number stays, a collective call's does not. */
static void an_event_that_is_alike_is_told_with_its_place(void **state)
{
    enum { N = 12 };
    struct fixture *fixture = *state;
    struct ring_producer *ring = &fixture->producers[0];
    struct seen seen = {0};
    const uint64_t enter[] = {0, 0x77, 1000, 0, 0, 0, 64, 0x401000};
    const uint64_t numbers[N] = {9, 9, 9, 9, 9, 4, 9, 9, 6, 6, 9, 9};
    begin_to_see(fixture, &seen);
    ring_producer_fill(ring, 5, 1, TG_RECORD_MPI_ENTER, enter, 8);
    for (uint64_t i = 0; i < N; i++)
        assert_true(ring_producer_again(ring, 5, 1, numbers[i], 10 + i));
    take_and_tell(fixture);
    assert_int_equal(seen.n_events, N);
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(seen.events[i].mpi_enter.instance, 1000 + numbers[i]);
        assert_int_equal(seen.is_again[i],
                         i > 1 && numbers[i] == numbers[i - 1]); /* the first one came in full */
    }
}

/* What the record alone does not say, its team's level and its thread, may be another one when it comes again. */
static void a_record_that_comes_again_is_of_where_its_thread_is_now(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer *ring = &fixture->producers[0], *other = &fixture->producers[1];
    struct seen seen = {0};
    const uint64_t place = ring_place(77, 2), lock[] = {0x402000, 0x5000}, enter[] = {0x401000, 77, 0, 4, 3};
    begin_to_see(fixture, &seen);
    ring_producer_fill_at(ring, 1, 1, TG_RECORD_OMP_MUTEX_ENTER, place, lock, 2);
    assert_true(ring_producer_again(ring, 1, 1, 0, 10));
    assert_true(ring_producer_again(ring, 1, 1, 0, 11));
    ring_producer_put(other, TG_RECORD_OMP_IMPLICIT_BEGIN, 12, place, enter, 5);
    assert_true(ring_producer_again(ring, 1, 1, 0, 13));
    assert_true(ring_producer_again(ring, 1, 1, 0, 14));
    assert_true(RING_PUT(ring, TG_RECORD_THREAD, 15, 4321));
    assert_true(ring_producer_again(ring, 1, 1, 0, 16));
    assert_true(ring_producer_again(ring, 1, 1, 0, 17));
    take_and_tell(fixture);
    assert_int_equal(seen.n_events, 7);
    for (size_t i = 0; i < seen.n_events; i++) {
        const struct tg_event *event = &seen.events[i];
        if (event->kind == TG_EVENT_OMP_IMPLICIT_BEGIN)
            continue;
        assert_int_equal(event->omp_mutex_enter.level, event->time_ns < 12 ? 0 : 3);
        assert_int_equal(event->tid == 4321, event->time_ns > 15);
        assert_int_equal(seen.is_again[i], event->time_ns == 14 || event->time_ns == 17);
    }
}

/* Twice what one thread records in a region, in teams that NUMBER moves; the level of each is that of its own. */
static void a_record_that_comes_again_says_its_team(void **state)
{
    enum { REGIONS = 3 };
    struct fixture *fixture = *state;
    struct ring_producer *ring = &fixture->producers[0];
    struct seen seen = {0};
    const uint64_t team = 500, back = (1 << 21) - 100, back_of_sync = (1 << 20) - 100;
    const uint64_t place = ring_place(team, 3);
    const uint64_t enter[] = {0x401000, team, 0, 4, 1}, lock[] = {0x402000, 0x5000}, sync[] = {0x403000, 9};
    const uint64_t moves[REGIONS] = {0, 7, back}, sync_moves[REGIONS] = {0, 7, back_of_sync};
    const uint64_t teams[REGIONS] = {500, 507, 400};
    begin_to_see(fixture, &seen);
    ring_producer_fill_at(ring, 1, 1, TG_RECORD_OMP_IMPLICIT_BEGIN, place, enter, 5);
    ring_producer_fill_at(ring, 2, 1, TG_RECORD_OMP_MUTEX_ENTER, place, lock, 2);
    ring_producer_fill_at(ring, 3, 1, TG_RECORD_OMP_SYNC_BEGIN, place, sync, 2);
    for (uint64_t i = 0; i < REGIONS; i++) {
        assert_true(ring_producer_again(ring, 1, 1, moves[i], 10 + 5 * i));
        assert_true(ring_producer_again(ring, 2, 1, moves[i], 11 + 5 * i));
        assert_true(ring_producer_again(ring, 3, 1, sync_moves[i] | UINT64_C(1) << 20, 12 + 5 * i));
        assert_true(ring_producer_again(ring, 2, 1, moves[i], 13 + 5 * i));
        assert_true(ring_producer_again(ring, 2, 1, moves[i], 14 + 5 * i));
    }
    take_and_tell(fixture);
    assert_int_equal(seen.n_events, 5 * REGIONS);
    const enum tg_event_kind kinds[] = {TG_EVENT_OMP_IMPLICIT_BEGIN, TG_EVENT_OMP_MUTEX_ENTER,
                                        TG_EVENT_OMP_SYNC_BEGIN, TG_EVENT_OMP_MUTEX_ENTER,
                                        TG_EVENT_OMP_MUTEX_ENTER};
    for (uint64_t i = 0; i < seen.n_events; i++) {
        const struct tg_event *event = &seen.events[i];
        assert_int_equal(event->kind, kinds[i % 5]);
        assert_int_equal(event->time_ns, 10 + i);
        const struct tg_omp_place *at = (const void *)TG_EVENT_PAYLOAD(event);
        assert_int_equal(at->team, teams[i / 5]);
        assert_int_equal(at->level, 1);
        assert_int_equal(at->thread_num, 3);
        if (event->kind == TG_EVENT_OMP_MUTEX_ENTER)
            assert_int_equal(event->omp_mutex_enter.lock, 0x5000);
        if (event->kind == TG_EVENT_OMP_SYNC_BEGIN)
            assert_int_equal(event->omp_sync_begin.instance, 9);
    }
    assert_string_equal(seen.reason, "");
}

/* A thread that has left a team is not in it any more: another team of the same bits is another thread's. */
static void a_region_that_comes_again_ends_again(void **state)
{
    enum { REGIONS = 3 };
    struct fixture *fixture = *state;
    struct ring_producer *ring = &fixture->producers[0], *other = &fixture->producers[1];
    struct seen seen = {0};
    const uint64_t team = 500, place = ring_place(team, 3);
    const uint64_t enter[] = {0x401000, team, 0, 4, 1}, leave[] = {0x401000}, lock[] = {0x402000, 0x5000};
    begin_to_see(fixture, &seen);
    ring_producer_fill_at(ring, 1, 1, TG_RECORD_OMP_IMPLICIT_BEGIN, place, enter, 5);
    ring_producer_fill_at(ring, 2, 1, TG_RECORD_OMP_IMPLICIT_END, place, leave, 1);
    for (uint64_t i = 0; i < REGIONS; i++) {
        const uint64_t id = team + i + TG_AGENT_TEAM_MASK + 1, enter_other[] = {0x401000, id, 0, 4, 5 + i};
        assert_true(ring_producer_again(ring, 1, 1, i, 10 + 4 * i));
        assert_true(ring_producer_again(ring, 2, 1, i, 11 + 4 * i));
        ring_producer_put(other, TG_RECORD_OMP_IMPLICIT_BEGIN, 12 + 4 * i, ring_place(team + i, 0),
                          enter_other, 5);
        ring_producer_put(ring, TG_RECORD_OMP_MUTEX_ENTER, 13 + 4 * i, ring_place(team + i, 3), lock, 2);
    }
    take_and_tell(fixture);
    assert_int_equal(seen.n_events, 4 * REGIONS);
    for (uint64_t i = 0; i < REGIONS; i++) {
        const struct tg_event *events = seen.events + 4 * i;
        assert_int_equal(events[0].omp_implicit_begin.team, team + i);
        assert_int_equal(events[0].omp_implicit_begin.team_size, 4);
        assert_int_equal(events[1].kind, TG_EVENT_OMP_IMPLICIT_END);
        assert_int_equal(events[1].omp_implicit_end.team, team + i);
        assert_int_equal(events[1].omp_implicit_end.level, 1);
        assert_int_equal(events[3].omp_mutex_enter.team, team + i + TG_AGENT_TEAM_MASK + 1);
        assert_int_equal(events[3].omp_mutex_enter.level, 5 + i);
    }
}

static void a_record_that_comes_again_has_a_word_of_its_own(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer *ring = &fixture->producers[0];
    struct seen seen = {0};
    const uint64_t create[] = {0x401000, 100, 0, 0x402000, 0, 0};
    begin_to_see(fixture, &seen);
    ring_producer_fill(ring, 9, 1, TG_RECORD_OMP_TASK_CREATE, create, 6);
    for (uint64_t i = 0; i < 3; i++)
        assert_true(ring_producer_put(ring, TG_RECORD_AGAIN, 10 + i,
                                      9 << TG_AGENT_REPEAT_SHIFT | 1 << TG_AGENT_SERIAL_SHIFT |
                                          i << TG_AGENT_NUMBER_SHIFT,
                                      (const uint64_t[]){70 + i, 0}, 2));
    take_and_tell(fixture);
    assert_int_equal(seen.n_events, 3);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(seen.events[i].kind, TG_EVENT_OMP_TASK_CREATE);
        assert_int_equal(seen.events[i].omp_task_create.task, 100 + i);
        assert_int_equal(seen.events[i].omp_task_create.parent_task, 70 + i);
        assert_int_equal(seen.events[i].omp_task_create.body, 0x402000);
    }
    /* without it, as an agent never leaves it */
    ring_producer_again(ring, 9, 1, 0, 20);
    take_and_tell(fixture);
    assert_non_null(strstr(seen.reason, "repeats nothing"));
}

/* A ring whose records repeat what is not there is given up, with a loss. */
static void what_repeats_nothing_is_a_loss(void **state)
{
    struct fixture *fixture = *state;
    struct seen seen = {0};
    const uint64_t arguments[13] = {0x401000, 0x5000};
    begin_to_see(fixture, &seen);
    const struct {
        size_t place;
        uint64_t serial;
        unsigned kind;
        size_t n_arguments;
    } filled[RINGS] = {
        {7, 2, TG_RECORD_OMP_MUTEX_ENTER, 2}, /* another serial */
        {7, 1, TG_RECORD_NOTE, 2},            /* never a repeat */
        {7, 1, TG_RECORD_AGAIN, 0},
    };
    for (unsigned i = 0; i < RINGS; i++) {
        ring_producer_fill(&fixture->producers[i], filled[i].place, filled[i].serial, filled[i].kind,
                           arguments, filled[i].n_arguments);
        ring_producer_again(&fixture->producers[i], 7, 1, 0, 10);
        take_and_tell(fixture);
        assert_non_null(strstr(seen.reason, "repeats nothing"));
        seen.reason[0] = '\0';
    }
    assert_int_equal(seen.n_events, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(little_memory_costs_rounds_and_nothing_else),
        TEST(the_end_tells_all_of_it),
        TEST(a_record_that_comes_again_is_told_again),
        TEST(what_repeats_nothing_is_a_loss),
        TEST(a_record_that_comes_again_says_its_number),
        TEST(an_event_that_is_alike_is_told_with_its_place),
        TEST(a_record_that_comes_again_is_of_where_its_thread_is_now),
        TEST(a_record_that_comes_again_says_its_team),
        TEST(a_region_that_comes_again_ends_again),
        TEST(a_record_that_comes_again_has_a_word_of_its_own),
        TEST(taking_little_at_a_time_is_as_complete),
        TEST(rings_that_nobody_writes_to_any_more_are_not_let_pile_up),
        TEST(rings_say_how_full_they_were),
        TEST(what_a_kill_cut_short_is_told_before_the_end),
        TEST(what_a_kill_of_all_cut_short_is_told_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
