#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/trace/writer.h"
#include "recorder/engine/engine.h"
#include "recorder/rings/salvage.h"
#include "tests/support/drain_fixture.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The remains of an interrupted recording: without them another recorder would remove the directory. */
static void leave_trace(const struct drain_fixture *fixture)
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

static const struct tg_recovery_place nowhere = {.n_events = 0}, unknown = {.n_events = UINT64_MAX};

/* A recorder that dies with records in its rings: N_TASKS in each; what it and the program did is in the child.
 * SEAL_AT events of them, 0 none, are in the trace's file: FIXTURE gets to know which. */
static void leave_rings(struct drain_fixture *fixture, char *path, size_t size, bool drained,
                        uint64_t seal_at, uint64_t n_tasks)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    /* a child of a process with one thread may allocate; another one could hold the allocator's lock here */
    tg_agent_drain_finish(fixture->drain, NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct drain_fixture *own = calloc(1, sizeof *own);
        own->temporary = fixture->temporary;
        own->behind = !drained; /* nothing is taken */
        own->seal_at = seal_at;
        drain_fixture_start(own, 0);
        leave_trace(own);
        struct ring_producer producers[2];
        for (unsigned i = 0; i < 2; i++)
            drain_fixture_make_ring(own, &producers[i], getpid(), i);
        for (uint64_t task = 0; task < n_tasks; task++)
            for (unsigned i = 0; i < 2; i++)
                drain_fixture_put_task(own, &producers[i], i, task);
        if (drained)
            for (unsigned i = 0; i < 2; i++)
                drain_fixture_wait_until_taken(&producers[i]);
        const char *said = tg_agent_directory_path(own->directory);
        /* all of them: in the middle of a record with two events nobody knows yet how many are in the file */
        while (seal_at > 0 && drain_fixture_count_events(own) < 2 * n_tasks + 1)
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
    struct drain_fixture *fixture = *state;
    char path[4096];
    leave_rings(fixture, path, sizeof path, false, 0, 300);
    struct tg_salvage_stats stats;
    uint64_t before_ns = tg_engine_now_ns();
    struct tg_error *error = tg_agent_salvage(path, nowhere, drain_fixture_take, fixture, &stats);
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
    error = tg_agent_salvage(path, nowhere, drain_fixture_take, fixture, &stats);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
    tg_error_destroy(error);
}

static void what_was_taken_already_is_there_still(void **state)
{
    struct drain_fixture *fixture = *state;
    char path[4096];
    leave_rings(fixture, path, sizeof path, true, 0, 300);
    assert_null(tg_agent_salvage(path, nowhere, drain_fixture_take, fixture, NULL));
    assert_int_equal(fixture->next[0], 300);
    assert_int_equal(fixture->next[1], 300);
    size_t n_events = fixture->n_events;
    /* with an unknown amount in the trace, what it has is told by its time; times behind the dead
     * recorder's last look at its clock depend a little on when they are asked for */
    const struct tg_recovery_place later = {.n_events = UINT64_MAX, .after_ns = fixture->last_ns + 10000};
    assert_null(tg_agent_salvage(path, later, drain_fixture_take, fixture, NULL));
    assert_int_equal(fixture->n_events, n_events);
    assert_null(tg_agent_salvage_discard(path));
}

/* Wherever the last whole chunk ends, and whatever the times are: every event is in the file or told,
 * once. */
static void what_is_in_the_file_is_not_told_again(void **state)
{
    struct drain_fixture *fixture = *state;
    static const uint64_t ends[] = {1, 2, 3, 250, 600, 601};
    char *incomplete = temporary_path(&fixture->temporary, "job.tgt.incomplete");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char path[4096];
        struct tg_salvage_stats stats;
        const struct tg_recovery_place place = {.n_events = ends[i], .after_ns = UINT64_MAX};
        leave_rings(fixture, path, sizeof path, true, ends[i], 300);
        memcpy(fixture->next, fixture->sealed, sizeof fixture->sealed);
        fixture->last_ns = 0;
        assert_null(tg_agent_salvage(path, place, drain_fixture_take, fixture, &stats));
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
    struct drain_fixture *fixture = *state;
    char path[4096];
    uint64_t begun_ns = tg_engine_now_ns();
    leave_rings(fixture, path, sizeof path, true, 0, 20000);
    uint64_t dead_ns = tg_engine_now_ns();
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
    struct drain_fixture *fixture = *state;
    struct tg_error *error = tg_agent_salvage(tg_agent_directory_path(fixture->directory), unknown,
                                              drain_fixture_take, fixture, NULL);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_EXISTS);
    tg_error_destroy(error);
    tg_agent_drain_finish(fixture->drain, NULL);
    assert_int_equal(access(tg_agent_directory_path(fixture->directory), F_OK), 0);
}

#define TEST(function)                                                                                       \
    cmocka_unit_test_setup_teardown(function, drain_fixture_set_up, drain_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_killed_recorders_rings_are_salvaged),   TEST(what_was_taken_already_is_there_still),
        TEST(what_is_in_the_file_is_not_told_again),   TEST(losses_are_not_later_than_what_was_lost),
        TEST(a_living_recorders_rings_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
