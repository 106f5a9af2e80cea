#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/drain_fixture.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void keep_text(struct drain_fixture *fixture, const char *text)
{
    assert_true(fixture->n_texts < DRAIN_FIXTURE_MAX_TEXTS);
    snprintf(fixture->texts[fixture->n_texts++], sizeof fixture->texts[0], "%s", text);
}

void drain_fixture_take(void *context, const struct tg_event *event)
{
    struct drain_fixture *fixture = context;
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
    if (fixture->n_events + 1 == fixture->seal_at) {
        memcpy(fixture->sealed, fixture->next, sizeof fixture->sealed);
        tg_agent_drain_seal(fixture->drain, fixture->seal_at, true);
    }
    __atomic_fetch_add(&fixture->n_events, 1, __ATOMIC_RELEASE); /* whoever sees it finds the above */
}

uint64_t drain_fixture_count_events(void *context)
{
    struct drain_fixture *fixture = context;
    return __atomic_load_n(&fixture->n_events, __ATOMIC_ACQUIRE);
}

static uint64_t count_written(void *context)
{
    struct drain_fixture *fixture = context;
    return __atomic_load_n(&fixture->unwritten, __ATOMIC_ACQUIRE) ? 0 : drain_fixture_count_events(context);
}

/* Once in each round. */
static void flush(void *context, bool at_once)
{
    struct drain_fixture *fixture = context;
    (void)at_once;
    __atomic_fetch_add(&fixture->n_rounds, 1, __ATOMIC_RELEASE);
}

static bool is_behind(void *context)
{
    struct drain_fixture *fixture = context;
    return __atomic_load_n(&fixture->behind, __ATOMIC_ACQUIRE);
}

static bool has_backlog(void *context)
{
    const struct drain_fixture *fixture = context;
    return is_behind(context) && !__atomic_load_n(&fixture->is_reader, __ATOMIC_ACQUIRE);
}

void drain_fixture_start(struct drain_fixture *fixture, uint64_t growth_bytes)
{
    char *trace = temporary_path(&fixture->temporary, "job.tgt");
    enum tg_agent_clock source = tg_tick_clock_best();
    const struct tg_agent_directory_options options = {
        .clock = source, .ring_bytes = DRAIN_FIXTURE_DATA, .trace = trace};
    if (tg_tick_clock_create(source, &fixture->clock) != NULL)
        abort();
    tg_tick_clock_add(fixture->clock, tg_tick_clock_take(fixture->clock));
    if (tg_agent_directory_create(&options, &fixture->directory) != NULL)
        abort();
    fixture->fd = tg_agent_directory_fd(fixture->directory);
    fixture->file = (struct tg_ring_set_file){.context = fixture,
                                              .n_events = drain_fixture_count_events,
                                              .n_written = count_written,
                                              .flush = flush,
                                              .has_backlog = has_backlog,
                                              .is_behind = is_behind};
    const struct tg_agent_drain_options drain = {.directory = fixture->directory,
                                                 .clock = fixture->clock,
                                                 .sink = {.context = fixture, .add = drain_fixture_take},
                                                 .file = &fixture->file,
                                                 .growth_bytes = growth_bytes};
    if (tg_agent_drain_create(&drain, &fixture->drain) != NULL)
        abort();
    free(trace);
}

static int set_up_drain(void **state, uint64_t growth_bytes)
{
    struct drain_fixture *fixture = calloc(1, sizeof *fixture);
    temporary_init(&fixture->temporary);
    drain_fixture_start(fixture, growth_bytes);
    *state = fixture;
    return 0;
}

int drain_fixture_set_up(void **state)
{
    return set_up_drain(state, 0);
}

int drain_fixture_set_up_late(void **state)
{
    return set_up_drain(state, 8 << 20);
}

int drain_fixture_tear_down(void **state)
{
    struct drain_fixture *fixture = *state;
    tg_agent_drain_destroy(fixture->drain);
    tg_agent_directory_destroy(fixture->directory);
    tg_tick_clock_destroy(fixture->clock);
    temporary_deinit(&fixture->temporary);
    free(fixture);
    return 0;
}

void drain_fixture_announce(const struct drain_fixture *fixture)
{
    uint32_t made = tg_agent_directory_control(fixture->directory).rings_made + 1;
    int fd = openat(fixture->fd, "control", O_RDWR);
    assert_int_equal(pwrite(fd, &made, sizeof made, offsetof(struct tg_agent_control, rings_made)),
                     sizeof made);
    close(fd);
    tg_agent_directory_call(fixture->directory);
}

void drain_fixture_make_ring(const struct drain_fixture *fixture, struct ring_producer *producer, int32_t pid,
                             unsigned n)
{
    ring_producer_init(producer, fixture->fd, pid, n, DRAIN_FIXTURE_DATA, 7000 + (uint64_t)pid);
    drain_fixture_announce(fixture);
}

void drain_fixture_put_task(const struct drain_fixture *fixture, struct ring_producer *producer,
                            unsigned source, uint64_t task)
{
    struct tg_agent_ring_header *header = producer->header;
    while (!RING_PUT(producer, TG_RECORD_OMP_TASK_BEGIN, tg_tick_clock_now(fixture->clock), source, task)) {
        uint64_t tail = __atomic_load_n(&header->tail, __ATOMIC_SEQ_CST);
        __atomic_store_n(&header->waiting, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&header->tail, __ATOMIC_SEQ_CST) == tail)
            syscall(SYS_futex, &header->waiting, FUTEX_WAIT, 1, NULL, NULL, 0);
    }
}

void drain_fixture_wait_until_taken(const struct ring_producer *producer)
{
    while (__atomic_load_n(&producer->header->tail, __ATOMIC_ACQUIRE) != producer->written)
        sched_yield();
}
