#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/trace/writer.h"
#include "recorder/rings/drain.h"
#include "recorder/rings/salvage.h"
#include "tests/support/ring_producer.h"
#include "tests/support/temporary.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DATA = TG_AGENT_RING_MIN_BYTES, MAX_TEXTS = 64, MAX_SOURCES = 8 };

struct fixture {
    struct temporary temporary;
    struct tg_agent_directory *directory;
    struct tg_tick_clock *clock;
    struct tg_agent_drain *drain;
    int fd;
    bool behind;    /* __atomic */
    bool is_reader; /* __atomic: who is behind is who reads the events, not the file */
    bool unwritten; /* __atomic; nothing gets into the trace's file */
    struct tg_ring_set_file file;
    uint64_t seal_at;   /* the event with which a chunk is complete, 0: never */
    uint64_t sealed[2]; /* tasks of the first two processes in it */

    uint64_t n_rounds;     /* __atomic */
    uint64_t n_gate_calls; /* __atomic */

    /* of the sink */
    uint64_t n_events; /* __atomic */
    uint64_t out_of_order;
    uint64_t last_ns;
    uint64_t next[MAX_SOURCES]; /* tasks of each process come in their order */
    uint64_t notes;
    uint64_t lost;           /* the counts of loss events */
    uint64_t heap_stacks[4]; /* of blocks that were given, by their addresses */
    uint64_t heap_frames;    /* of stacks that were told */
    size_t n_texts;
    char texts[MAX_TEXTS][192]; /* of loss and agent events, and of notes but the engine's */
};

static void keep_text(struct fixture *fixture, const char *text)
{
    assert_true(fixture->n_texts < MAX_TEXTS);
    snprintf(fixture->texts[fixture->n_texts++], sizeof fixture->texts[0], "%s", text);
}

static void take_event(void *context, const struct tg_event *event)
{
    struct fixture *fixture = context;
    fixture->out_of_order += event->time_ns < fixture->last_ns;
    fixture->last_ns = event->time_ns;
    if (event->kind == TG_EVENT_OMP_TASK_BEGIN) {
        assert_int_equal(event->omp_task_begin.task, fixture->next[event->omp_task_begin.code]);
        fixture->next[event->omp_task_begin.code]++;
    } else if (event->kind == TG_EVENT_NOTE && strcmp(event->note.text, "engine") == 0) {
        fixture->notes++;
    } else if (event->kind == TG_EVENT_HEAP_ALLOC) {
        fixture->heap_stacks[event->heap_alloc.address % 4] = event->heap_alloc.stack;
    } else if (event->kind == TG_EVENT_HEAP_STACK) {
        fixture->heap_frames += event->heap_stack.frames.count;
    } else if (event->kind == TG_EVENT_NOTE) {
        keep_text(fixture, event->note.text);
    } else if (event->kind == TG_EVENT_LOSS) {
        keep_text(fixture, event->loss.reason);
        fixture->lost += event->loss.count;
    } else if (event->kind == TG_EVENT_AGENT) {
        keep_text(fixture, event->agent.state == TG_AGENT_WATCHING ? "watching" : event->agent.reason);
    }
    if (__atomic_add_fetch(&fixture->n_events, 1, __ATOMIC_RELEASE) == fixture->seal_at) {
        memcpy(fixture->sealed, fixture->next, sizeof fixture->sealed);
        tg_agent_drain_seal(fixture->drain, fixture->seal_at, true);
    }
}

static uint64_t count_events(void *context)
{
    struct fixture *fixture = context;
    return __atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE);
}

static uint64_t count_written(void *context)
{
    struct fixture *fixture = context;
    return __atomic_load_n(&fixture->unwritten, __ATOMIC_ACQUIRE) ? 0 : count_events(context);
}

/* Once in each round. */
static void flush(void *context, bool at_once)
{
    struct fixture *fixture = context;
    (void)at_once;
    __atomic_fetch_add(&fixture->n_rounds, 1, __ATOMIC_RELEASE);
}

static bool is_behind(void *context)
{
    struct fixture *fixture = context;
    return __atomic_load_n(&fixture->behind, __ATOMIC_ACQUIRE);
}

static bool has_backlog(void *context)
{
    const struct fixture *fixture = context;
    return is_behind(context) && !__atomic_load_n(&fixture->is_reader, __ATOMIC_ACQUIRE);
}

static void take_gate_call(void *context)
{
    struct fixture *fixture = context;
    __atomic_fetch_add(&fixture->n_gate_calls, 1, __ATOMIC_RELEASE);
}

static size_t count_texts(const struct fixture *fixture, const char *part)
{
    size_t n = 0;
    for (size_t i = 0; i < fixture->n_texts; i++)
        n += strstr(fixture->texts[i], part) != NULL;
    return n;
}

static void expect_text(const struct fixture *fixture, const char *part)
{
    if (count_texts(fixture, part) != 1)
        fail_msg("%zu texts have \"%s\"", count_texts(fixture, part), part);
}

/* The remains of an interrupted recording: without them another recorder would remove the directory. */
static void leave_trace(const struct fixture *fixture)
{
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    char *name = temporary_path(&fixture->temporary, "job.tgt");
    if (tg_trace_meta_create(&meta) != NULL ||
        tg_trace_meta_set(meta, "agent.directory", tg_agent_directory_path(fixture->directory)) != NULL ||
        tg_trace_writer_create(name, &(struct tg_trace_writer_options){0}, meta, &writer) != NULL)
        abort();
    tg_trace_writer_destroy(writer);
    tg_trace_meta_destroy(meta);
    free(name);
}

static void start(struct fixture *fixture, uint64_t growth_bytes)
{
    char *trace = temporary_path(&fixture->temporary, "job.tgt");
    enum tg_agent_clock source = tg_tick_clock_best();
    const struct tg_agent_directory_options options = {.clock = source, .ring_bytes = DATA, .trace = trace};
    if (tg_tick_clock_create(source, &fixture->clock) != NULL)
        abort();
    tg_tick_clock_add(fixture->clock, tg_tick_clock_take(fixture->clock));
    if (tg_agent_directory_create(&options, &fixture->directory) != NULL)
        abort();
    fixture->fd = tg_agent_directory_fd(fixture->directory);
    fixture->file = (struct tg_ring_set_file){.context = fixture,
                                              .n_events = count_events,
                                              .n_written = count_written,
                                              .flush = flush,
                                              .has_backlog = has_backlog,
                                              .is_behind = is_behind};
    const struct tg_agent_drain_options drain = {.directory = fixture->directory,
                                                 .clock = fixture->clock,
                                                 .sink = {.context = fixture, .add = take_event},
                                                 .file = &fixture->file,
                                                 .gates_called = take_gate_call,
                                                 .growth_bytes = growth_bytes};
    if (tg_agent_drain_create(&drain, &fixture->drain) != NULL)
        abort();
    free(trace);
}

static int set_up_drain(void **state, uint64_t growth_bytes)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    temporary_init(&fixture->temporary);
    start(fixture, growth_bytes);
    *state = fixture;
    return 0;
}

static int set_up(void **state)
{
    return set_up_drain(state, 0);
}

/* Events may be told late. */
static int set_up_late(void **state)
{
    return set_up_drain(state, 8 << 20);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    tg_agent_drain_destroy(fixture->drain);
    tg_agent_directory_destroy(fixture->directory);
    tg_tick_clock_destroy(fixture->clock);
    temporary_deinit(&fixture->temporary);
    free(fixture);
    return 0;
}

/* The ring is there: the directory says so. */
static void announce(const struct fixture *fixture)
{
    uint32_t made = tg_agent_directory_control(fixture->directory).rings_made + 1;
    int fd = openat(fixture->fd, "control", O_RDWR);
    assert_int_equal(pwrite(fd, &made, sizeof made, offsetof(struct tg_agent_control, rings_made)),
                     sizeof made);
    close(fd);
    tg_agent_directory_call(fixture->directory);
}

static void make_ring(const struct fixture *fixture, struct ring_producer *producer, int32_t pid, unsigned n)
{
    ring_producer_init(producer, fixture->fd, pid, n, DATA, 7000 + (uint64_t)pid);
    announce(fixture);
}

/* One task of source SOURCE, now; waits for room as an agent does. */
static void put_task(const struct fixture *fixture, struct ring_producer *producer, unsigned source,
                     uint64_t task)
{
    struct tg_agent_ring_header *header = producer->header;
    while (!RING_PUT(producer, TG_RECORD_OMP_TASK_BEGIN, tg_tick_clock_now(fixture->clock), source, task)) {
        uint64_t tail = __atomic_load_n(&header->tail, __ATOMIC_SEQ_CST);
        __atomic_store_n(&header->waiting, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&header->tail, __ATOMIC_SEQ_CST) == tail)
            syscall(SYS_futex, &header->waiting, FUTEX_WAIT, 1, NULL, NULL, 0);
    }
}

/* Enough have come to a gate. */
static void call_from_gate(const struct fixture *fixture)
{
    uint32_t calls = tg_agent_directory_control(fixture->directory).gate_calls + 1;
    int fd = openat(fixture->fd, "control", O_RDWR);
    assert_int_equal(pwrite(fd, &calls, sizeof calls, offsetof(struct tg_agent_control, gate_calls)),
                     sizeof calls);
    close(fd);
    tg_agent_directory_call(fixture->directory);
}

static void wait_until_taken(const struct ring_producer *producer)
{
    while (__atomic_load_n(&producer->header->tail, __ATOMIC_ACQUIRE) != producer->written)
        sched_yield();
}

static void wait_until_gone(const struct fixture *fixture, const char *name)
{
    while (faccessat(fixture->fd, name, F_OK, 0) == 0)
        sched_yield();
}

static void add_note(const struct fixture *fixture, uint64_t time_ns)
{
    const struct tg_event event = {.kind = TG_EVENT_NOTE, .time_ns = time_ns, .note = {.text = "engine"}};
    tg_agent_drain_add(fixture->drain, &event);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct worker {
    const struct fixture *fixture;
    unsigned number;
    pthread_t thread;
};
enum { WORKERS = 4, TASKS = 100000 };

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct ring_producer producer;
    make_ring(worker->fixture, &producer, getpid(), worker->number);
    for (uint64_t task = 0; task < TASKS; task++)
        put_task(worker->fixture, &producer, worker->number, task);
    __atomic_store_n(&producer.header->state, TG_AGENT_RING_CLOSED, __ATOMIC_RELEASE);
    ring_producer_deinit(&producer);
    return NULL;
}

/* Some with more than fits their rings by far, and the engine beside them. */
static void everything_arrives_in_order(void **state)
{
    struct fixture *fixture = *state;
    struct worker workers[WORKERS];
    __atomic_store_n(&fixture->unwritten, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.fixture = fixture, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 20000; i++)
        add_note(fixture, now_ns());
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
    struct fixture *fixture = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct ring_producer producer;
        make_ring(fixture, &producer, getpid(), 0);
        for (uint64_t task = 0; task < 10; task++)
            put_task(fixture, &producer, 0, task);
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
    struct fixture *fixture = *state;
    struct ring_producer producer;
    make_ring(fixture, &producer, getpid(), 0);
    put_task(fixture, &producer, 0, 0);
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
    struct fixture *fixture = *state;
    struct ring_producer before, after;
    make_ring(fixture, &before, getpid(), 0);
    put_task(fixture, &before, 0, 0);
    wait_until_taken(&before);
    ring_producer_init(&after, fixture->fd, getpid(), 1, DATA, 1);
    announce(fixture);
    put_task(fixture, &after, 1, 0);
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
    struct fixture *fixture = *state;
    struct ring_producer good, bad, open_to_all;
    make_ring(fixture, &good, getpid(), 0);
    make_ring(fixture, &bad, getpid(), 1);
    /* made one folder below: among the rings the drain may find it while its mode is still right */
    assert_int_equal(mkdirat(fixture->fd, "below", 0700), 0);
    int below = openat(fixture->fd, "below", O_RDONLY | O_DIRECTORY);
    ring_producer_init(&open_to_all, below, getpid(), 2, DATA, 1);
    assert_int_equal(fchmodat(below, open_to_all.name, 0666, 0), 0);
    assert_int_equal(renameat(below, open_to_all.name, fixture->fd, open_to_all.name), 0);
    close(below);
    assert_int_equal(unlinkat(fixture->fd, "below", AT_REMOVEDIR), 0);
    announce(fixture);
    for (uint64_t task = 0; task < 100; task++) {
        put_task(fixture, &good, 0, task);
        __atomic_store_n(&bad.header->head, 7 + task * 1234567, __ATOMIC_RELEASE);
        if (task % 10 == 0)
            wait_until_taken(&good);
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
    struct fixture *fixture = *state;
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
    struct fixture *fixture = *state;
    struct ring_producer producer;
    uint64_t stop_ns = now_ns(), task = 0;
    tg_agent_drain_hold(fixture->drain, stop_ns);
    make_ring(fixture, &producer, getpid(), 0);
    while (now_ns() < stop_ns + 4 * tg_agent_drain_hold_ns) {
        put_task(fixture, &producer, 0, task++);
        wait_until_taken(&producer);
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
    struct fixture *fixture = *state;
    struct ring_producer producer;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t n_rounds;
        add_note(fixture, now_ns());
        while (__atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE) != i + 1)
            sched_yield();
        do {
            n_rounds = __atomic_load_n(&fixture->n_rounds, __ATOMIC_ACQUIRE);
            nanosleep(&long_enough, NULL);
        } while (__atomic_load_n(&fixture->n_rounds, __ATOMIC_ACQUIRE) != n_rounds);
    }
    make_ring(fixture, &producer, getpid(), 0);
    put_task(fixture, &producer, 0, 0);
    while (__atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE) < 4)
        sched_yield();
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->notes, 3);
    assert_int_equal(fixture->next[0], 1);
    ring_producer_deinit(&producer);
}

static void what_is_far_too_late_stands_out_of_order_and_is_counted(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer producer;
    uint64_t early_ns = now_ns();
    make_ring(fixture, &producer, getpid(), 0);
    for (uint64_t task = 0; __atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE) < 10; task++) {
        put_task(fixture, &producer, 0, task); /* until some of them are out */
        wait_until_taken(&producer);
    }
    add_note(fixture, early_ns);
    struct tg_agent_drain_stats stats;
    tg_agent_drain_finish(fixture->drain, &stats);
    assert_int_equal(stats.out_of_order, 1);
    assert_int_equal(fixture->out_of_order, 1);
    expect_text(fixture, "1 events came more than 20 ms late");
    ring_producer_deinit(&producer);
}

static void a_sink_that_is_behind_is_given_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct ring_producer producer;
    __atomic_store_n(&fixture->behind, true, __ATOMIC_RELEASE);
    make_ring(fixture, &producer, getpid(), 0);
    uint64_t task = 0; /* until the ring is full */
    while (RING_PUT(&producer, TG_RECORD_OMP_TASK_BEGIN, tg_tick_clock_now(fixture->clock), 0, task))
        task++;
    assert_in_range(task, 1, 2 * DATA / 32); /* one round may have been under way */
    __atomic_store_n(&fixture->behind, false, __ATOMIC_RELEASE);
    wait_until_taken(&producer);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(fixture->next[0], task);
    ring_producer_deinit(&producer);
}

/* A console that waits for the tracer, which waits for the heap's records, reads no events meanwhile. */
static void who_settles_does_not_wait_for_who_reads(void **state)
{
    const uint64_t within_ns = 20000000000;
    struct fixture *fixture = *state;
    struct ring_producer producer;
    __atomic_store_n(&fixture->is_reader, true, __ATOMIC_RELEASE);
    __atomic_store_n(&fixture->behind, true, __ATOMIC_RELEASE);
    make_ring(fixture, &producer, getpid(), 0);
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

static void put_heap(const struct fixture *fixture, struct ring_producer *producer, unsigned kind,
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
    struct fixture *fixture = *state;
    struct ring_producer own[2], other;
    struct foreseen seen = {0};
    struct tg_ring_foresight foresight = {.pid = getpid(), .sink = {.context = &seen, .add = see}};
    make_ring(fixture, &own[0], getpid(), 0);
    PUT_HEAP(&own[0], TG_RECORD_HEAP_STACK, 1, TG_STACK_WHOLE, 2, 0x1000, 0x2000);
    PUT_HEAP(&own[0], TG_RECORD_HEAP_ALLOC, 0x1001, 64 | UINT64_C(1) << 32);
    assert_true(tg_agent_drain_settle(fixture->drain, UINT64_MAX, within_ns));
    assert_int_equal(fixture->heap_frames, 2);

    tg_agent_drain_hold(fixture->drain, tg_engine_now_ns());
    __atomic_store_n(&fixture->is_reader, true, __ATOMIC_RELEASE);
    __atomic_store_n(&fixture->behind, true, __ATOMIC_RELEASE);
    foresight.since_ns = tg_engine_now_ns();
    make_ring(fixture, &own[1], getpid(), 1);
    make_ring(fixture, &other, 1, 0);
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

/* ---- salvage */

static const struct tg_recovery_place nowhere = {.n_events = 0}, unknown = {.n_events = UINT64_MAX};

/* A recorder that dies with records in its rings: N_TASKS in each; what it and the program did is in the child.
 * SEAL_AT events of them, 0 none, are in the trace's file: FIXTURE gets to know which. */
static void leave_rings(struct fixture *fixture, char *path, size_t size, bool drained, uint64_t seal_at,
                        uint64_t n_tasks)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    /* a child of a process with one thread may allocate; another one could hold the allocator's lock here */
    tg_agent_drain_finish(fixture->drain, NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fixture *own = calloc(1, sizeof *own);
        own->temporary = fixture->temporary;
        own->behind = !drained; /* nothing is taken */
        own->seal_at = seal_at;
        start(own, 0);
        leave_trace(own);
        struct ring_producer producers[2];
        for (unsigned i = 0; i < 2; i++)
            make_ring(own, &producers[i], getpid(), i);
        for (uint64_t task = 0; task < n_tasks; task++)
            for (unsigned i = 0; i < 2; i++)
                put_task(own, &producers[i], i, task);
        if (drained)
            for (unsigned i = 0; i < 2; i++)
                wait_until_taken(&producers[i]);
        const char *said = tg_agent_directory_path(own->directory);
        while (seal_at > 0 && count_events(own) < seal_at)
            sched_yield();
        if (write(ends[1], own->sealed, sizeof own->sealed) < 0 || write(ends[1], said, strlen(said) + 1) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], fixture->sealed, sizeof fixture->sealed), sizeof fixture->sealed);
    assert_true(read(ends[0], path, size) > 1);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_killed_recorders_rings_are_salvaged(void **state)
{
    struct fixture *fixture = *state;
    char path[4096];
    leave_rings(fixture, path, sizeof path, false, 0, 300);
    struct tg_salvage_stats stats;
    uint64_t before_ns = now_ns();
    struct tg_error *error = tg_agent_salvage(path, nowhere, take_event, fixture, &stats);
    if (error != NULL)
        fail_msg("%s", tg_error_message(error));
    assert_int_equal(fixture->next[0], 300);
    assert_int_equal(fixture->next[1], 300);
    assert_int_equal(fixture->out_of_order, 0);
    assert_true(fixture->last_ns <= before_ns); /* the clock was known */
    assert_true(before_ns - fixture->last_ns < UINT64_C(60) * 1000000000);
    assert_int_equal(stats.rings, 2);
    assert_int_equal(stats.events, 601);
    assert_null(tg_agent_salvage_discard(path));
    assert_int_not_equal(access(path, F_OK), 0);
    error = tg_agent_salvage(path, nowhere, take_event, fixture, &stats);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
    tg_error_destroy(error);
}

static void what_was_taken_already_is_there_still(void **state)
{
    struct fixture *fixture = *state;
    char path[4096];
    leave_rings(fixture, path, sizeof path, true, 0, 300);
    assert_null(tg_agent_salvage(path, nowhere, take_event, fixture, NULL));
    assert_int_equal(fixture->next[0], 300);
    assert_int_equal(fixture->next[1], 300);
    size_t n_events = fixture->n_events;
    /* with an unknown amount in the trace, what it has is told by its time; times behind the dead
     * recorder's last look at its clock depend a little on when they are asked for */
    const struct tg_recovery_place later = {.n_events = UINT64_MAX, .after_ns = fixture->last_ns + 10000};
    assert_null(tg_agent_salvage(path, later, take_event, fixture, NULL));
    assert_int_equal(fixture->n_events, n_events);
    assert_null(tg_agent_salvage_discard(path));
}

/* Wherever the last whole chunk ends, and whatever the times are: every event is in the file or told,
 * once. */
static void what_is_in_the_file_is_not_told_again(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t ends[] = {1, 2, 3, 250, 600, 601};
    char *incomplete = temporary_path(&fixture->temporary, "job.tgt.incomplete");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char path[4096];
        struct tg_salvage_stats stats;
        const struct tg_recovery_place place = {.n_events = ends[i], .after_ns = UINT64_MAX};
        leave_rings(fixture, path, sizeof path, true, ends[i], 300);
        memcpy(fixture->next, fixture->sealed, sizeof fixture->sealed);
        fixture->last_ns = 0;
        assert_null(tg_agent_salvage(path, place, take_event, fixture, &stats));
        assert_int_equal(fixture->next[0], 300);
        assert_int_equal(fixture->next[1], 300);
        /* the first one says that there is an agent, and comes of the same record as the second */
        assert_int_equal(stats.events, ends[i] == 1 ? 601 : 601 - ends[i]);
        assert_int_equal(stats.lost_events, 0);
        assert_null(tg_agent_salvage_discard(path));
        unlink(incomplete);
    }
    free(incomplete);
}

struct seen {
    uint64_t losses, tasks, first_ns, last_ns;
};

static void see_event(void *context, const struct tg_event *event)
{
    struct seen *seen = context;
    seen->losses += event->kind == TG_EVENT_LOSS;
    seen->tasks += event->kind == TG_EVENT_OMP_TASK_BEGIN;
    if (event->time_ns < seen->first_ns)
        seen->first_ns = event->time_ns;
    if (event->time_ns > seen->last_ns)
        seen->last_ns = event->time_ns;
}

/* What was taken is not in the file, which has nothing yet, and overwritten: that is told, and all of it happened
 * before the recorder died. */
static void losses_are_not_later_than_what_was_lost(void **state)
{
    struct fixture *fixture = *state;
    char path[4096];
    uint64_t begun_ns = now_ns();
    leave_rings(fixture, path, sizeof path, true, 0, 20000);
    uint64_t dead_ns = now_ns();
    struct seen seen = {.first_ns = UINT64_MAX};
    assert_null(tg_agent_salvage(path, nowhere, see_event, &seen, NULL));
    assert_int_equal(seen.losses, 2);
    assert_true(seen.tasks > 0 && seen.tasks < 40000);
    assert_true(seen.first_ns >= begun_ns);
    assert_true(seen.last_ns <= dead_ns);
    assert_null(tg_agent_salvage_discard(path));
}

static void a_living_recorders_rings_are_left_alone(void **state)
{
    struct fixture *fixture = *state;
    struct tg_error *error =
        tg_agent_salvage(tg_agent_directory_path(fixture->directory), unknown, take_event, fixture, NULL);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_EXISTS);
    tg_error_destroy(error);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(access(tg_agent_directory_path(fixture->directory), F_OK), 0);
}

/* Whatever waits for workers at gates is told at once: not when their records are in order, or the file has them. */
static void calls_from_gates_are_not_held_back(void **state)
{
    struct fixture *fixture = *state;
    __atomic_store_n(&fixture->behind, true, __ATOMIC_RELEASE);
    call_from_gate(fixture);
    while (__atomic_load_n(&fixture->n_gate_calls, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
    uint64_t until = __atomic_load_n(&fixture->n_rounds, __ATOMIC_ACQUIRE) + 3;
    while (__atomic_load_n(&fixture->n_rounds, __ATOMIC_ACQUIRE) < until)
        sched_yield();
    assert_int_equal(__atomic_load_n(&fixture->n_gate_calls, __ATOMIC_ACQUIRE), 1); /* once for each */
    __atomic_store_n(&fixture->behind, false, __ATOMIC_RELEASE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define TEST_LATE(function)                                                                                  \
    {                                                                                                        \
        .name = #function ", late", .test_func = function, .setup_func = set_up_late,                        \
        .teardown_func = tear_down                                                                           \
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
        TEST(a_killed_recorders_rings_are_salvaged),
        TEST(what_was_taken_already_is_there_still),
        TEST(what_is_in_the_file_is_not_told_again),
        TEST(losses_are_not_later_than_what_was_lost),
        TEST(a_living_recorders_rings_are_left_alone),
        TEST(calls_from_gates_are_not_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
