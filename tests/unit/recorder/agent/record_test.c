/* The agent's core, linked into this program: it is observed by a recorder that the test plays. The tests share the agent's
 * one state and run in their order. */
#include "recorder/agent/next.h"
#include "recorder/agent/openmp.h"
#include "recorder/agent/record.h"
#include "tests/support/agent_recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

/* The agent looks for its variable when it is loaded: another program is asked whether it observes. */
static bool would_observe(const char *directory)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (directory == NULL)
            unsetenv(TG_AGENT_VARIABLE);
        else
            setenv(TG_AGENT_VARIABLE, directory, 1);
        execl("/proc/self/exe", "agent_test", "--observes", NULL);
        _exit(2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 1;
}

static void observes_for_a_recorder_alone(void **state)
{
    (void)state;
    assert_true(would_observe(agent_recorder.path));
    assert_false(would_observe(NULL));
    assert_false(would_observe("/nonexistent"));
    assert_false(would_observe("/tmp"));
    assert_false(would_observe(""));
}

static void refuses_what_others_can_write(void **state)
{
    (void)state;
    assert_int_equal(chmod(agent_recorder.path, 0755), 0);
    assert_false(would_observe(agent_recorder.path));
    assert_int_equal(chmod(agent_recorder.path, 0700), 0);
    assert_int_equal(fchmod(agent_recorder.control_fd, 0666), 0);
    assert_false(would_observe(agent_recorder.path));
    assert_int_equal(fchmod(agent_recorder.control_fd, 0600), 0);
    agent_recorder.control->protocol++;
    assert_false(would_observe(agent_recorder.path));
    agent_recorder.control->protocol--;
    assert_true(would_observe(agent_recorder.path));
}

static void keeps_records_in_order(void **state)
{
    (void)state;
    assert_true(tg_agent_observes(TG_AGENT_OPENMP));
    assert_false(tg_agent_observes(TG_AGENT_OPENMP | TG_AGENT_MPI));
    tg_agent_set_place(5, 3);
    errno = 4711;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 42);
    tg_agent_record4(TG_RECORD_OMP_PARALLEL_BEGIN, 1, 2, 3, 4);
    tg_agent_say(TG_RECORD_NOTE, "a text of more than eight bytes");
    assert_int_equal(errno, 4711);
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    assert_int_equal(ring->header->magic, TG_AGENT_RING_MAGIC);
    assert_int_equal(ring->header->pid, getpid());
    const uint64_t *thread = agent_ring_next(ring), *first = agent_ring_next(ring),
                   *second = agent_ring_next(ring), *third = agent_ring_next(ring);
    assert_int_equal(agent_record_kind(thread), TG_RECORD_THREAD);
    assert_int_equal(agent_record_kind(first), TG_RECORD_OMP_IMPLICIT_END);
    assert_int_equal(first[2], 42);
    assert_int_equal(first[1] >> TG_AGENT_TEAM_SHIFT, 5);
    assert_int_equal(first[1] >> TG_AGENT_THREAD_NUM_SHIFT & 0xffff, 3);
    assert_true(first[0] <= second[0] && second[0] <= third[0]);
    assert_int_equal(second[5], 4);
    assert_string_equal((const char *)(third + 2), "a text of more than eight bytes");
    assert_null(agent_ring_next(ring));
}

static void in_handler(int signal)
{
    (void)signal;
    tg_agent_record2(TG_RECORD_OMP_SECTION, 200, 200);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 201, 201);
}

static void a_handler_may_interrupt(void **state)
{
    (void)state;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 0); /* with word of what was lost before */
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    signal(SIGUSR1, in_handler);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 2);
    assert_non_null(arguments);
    arguments[0] = 100;
    raise(SIGUSR1);
    arguments[1] = 100;
    tg_agent_commit();
    tg_agent_record2(TG_RECORD_OMP_SECTION, 101, 101);
    static const uint64_t expected[] = {100, 200, 201, 101};
    for (size_t i = 0; i < 4; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_non_null(record);
        assert_int_equal(record[2], expected[i]);
        assert_int_equal(record[3], expected[i]);
    }
    assert_null(agent_ring_next(ring));
}

enum { TOO_MANY = 100 };

static void record_too_much(int signal)
{
    (void)signal;
    for (uint64_t i = 0; i < TOO_MANY; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, 200 + i, 0);
}

/* There is room for some of it; the rest is told with the next record, and by the header if that never comes. */
static void a_handler_may_record_too_much(void **state)
{
    (void)state;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 0); /* with word of what was lost before */
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    uint64_t before = ring->header->lost, kept = 0;
    signal(SIGUSR1, record_too_much);
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 2);
    assert_non_null(arguments);
    arguments[0] = arguments[1] = 100;
    raise(SIGUSR1);
    tg_agent_commit();
    assert_int_equal(agent_ring_next(ring)[2], 100);
    for (const uint64_t *record; (record = agent_ring_next(ring)) != NULL; kept++)
        assert_int_equal(record[2], 200 + kept);
    assert_true(kept > 0 && kept < TOO_MANY);
    assert_int_equal(ring->header->lost - before, TOO_MANY - kept);
    tg_agent_record2(TG_RECORD_OMP_SECTION, 101, 101);
    const uint64_t *record = agent_ring_next(ring);
    assert_int_equal(agent_record_kind(record), TG_RECORD_LOST);
    assert_int_equal(record[2], TOO_MANY - kept);
    assert_int_equal(agent_ring_next(ring)[2], 101);
    assert_null(agent_ring_next(ring));
}

static sigjmp_buf away;

static void jump_away(int signal)
{
    (void)signal;
    siglongjmp(away, 1);
}

static __attribute__((noinline)) void record_interrupted(void)
{
    uint64_t *arguments = tg_agent_begin(TG_RECORD_OMP_SECTION, 2);
    arguments[0] = 300;
    raise(SIGUSR1);
    tg_agent_commit();
}

static void a_handler_may_jump_away(void **state)
{
    (void)state;
    tg_agent_record1(TG_RECORD_OMP_IMPLICIT_END, 0); /* with word of what was lost before */
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    signal(SIGUSR1, jump_away);
    if (sigsetjmp(away, 1) == 0)
        record_interrupted();
    for (uint64_t i = 0; i < 3; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, i, i);
    for (uint64_t i = 0; i < 3; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_non_null(record);
        assert_int_equal(record[2], i);
    }
}

/* So that no PAD comes in the next records. */
static void go_to_the_first_half(struct agent_ring *ring)
{
    while ((ring->header->head & (agent_ring_size(ring) - 1)) > agent_ring_size(ring) / 2) {
        tg_agent_record2(TG_RECORD_OMP_CANCEL, 0, 0);
        agent_recorder_skip_all();
    }
}

static void what_comes_again_takes_two_words(void **state)
{
    (void)state;
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    go_to_the_first_half(ring);
    uint64_t before = ring->header->head, ticks = 0;
    for (int i = 0; i < 5; i++)
        tg_agent_record2(TG_RECORD_OMP_SECTION, 7777, 8888);
    assert_int_equal(ring->header->head - before, 32 + 4 * 16);
    for (int i = 0; i < 5; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_non_null(record);
        assert_int_equal(agent_record_kind(record), TG_RECORD_OMP_SECTION);
        assert_int_equal(record[2], 7777);
        assert_int_equal(record[3], 8888);
        assert_true(record[0] > ticks);
        ticks = record[0];
    }
    before = ring->header->head;
    for (int i = 0; i < 3; i++)
        tg_agent_record2(TG_RECORD_OMP_CANCEL, 7777, 8888); /* which is rare */
    assert_int_equal(ring->header->head - before, 3 * 32);
}

static void what_is_counted_comes_again(void **state)
{
    (void)state;
    enum { TIMES = 50 };
    const uint64_t far = UINT64_C(1) << 21;
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    go_to_the_first_half(ring);
    uint64_t before = ring->header->head;
    for (uint64_t i = 0; i < TIMES; i++) {
        tg_agent_record2(TG_RECORD_OMP_TASK_END, 4444, 100 + i);
        uint64_t *arguments = tg_agent_begin(TG_RECORD_MPI_ENTER, 8);
        assert_non_null(arguments);
        memcpy(arguments, (const uint64_t[8]){1, 2, 1000 + i, 4, 5, 6, 7, 8}, 64);
        tg_agent_commit_repeatable(arguments, TG_RECORD_MPI_ENTER, 10);
    }
    assert_int_equal(ring->header->head - before, 32 + 80 + (TIMES - 1) * 32);
    for (uint64_t i = 0; i < TIMES; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_int_equal(agent_record_kind(record), TG_RECORD_OMP_TASK_END);
        assert_int_equal(record[3], 100 + i);
        record = agent_ring_next(ring);
        assert_int_equal(agent_record_kind(record), TG_RECORD_MPI_ENTER);
        assert_int_equal(record[3], 2);
        assert_int_equal(record[4], 1000 + i);
        assert_int_equal(record[9], 8);
    }
    /* further away than the number can say: in the other places; out of the reach of all: whole */
    const uint64_t instances[] = {100 + far / 2, 101 + far / 2, 100, UINT64_MAX, 101 - far, 3 * far};
    const uint64_t sizes[] = {16, 16, 16, 16, 16, 32};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        before = ring->header->head;
        tg_agent_record2(TG_RECORD_OMP_TASK_END, 4444, instances[i]);
        assert_int_equal(ring->header->head - before, sizes[i]);
        assert_int_equal(agent_ring_next(ring)[3], instances[i]);
    }
}

/* Team TEAM of two threads with a worksharing loop and two barriers, as its master records it. */
static void record_region(uint64_t team)
{
    tg_openmp_parallel_begin((void *)0x1234, 1, team, 2, (void *)0x5678);
    const struct tg_openmp_frame around = tg_openmp_frame;
    tg_openmp_enter((void *)0x1234, 1, team, 0, 0, 2, 1);
    tg_openmp_zone_begin(0, (void *)0x2222, 1, TG_OMP_ZONE_LOOP, TG_OMP_SCHEDULE_NONE, 0);
    tg_openmp_zone_end(0, (void *)0x2222, 1, TG_OMP_ZONE_LOOP);
    for (int i = 0; i < 2; i++) /* of one place */
        tg_openmp_sync_end((void *)0x3333, 1, TG_OMP_SYNC_BARRIER,
                           tg_openmp_sync_begin(0, (void *)0x3333, 1, TG_OMP_SYNC_BARRIER), false);
    tg_openmp_implicit_end(0, (void *)0x1234, 1);
    tg_openmp_return(&around);
    tg_openmp_parallel_end((void *)0x1234, 1, team);
}

static void expect_record(struct agent_ring *ring, unsigned kind, uint64_t low_team, uint64_t argument)
{
    const uint64_t *record = agent_ring_next(ring);
    assert_non_null(record);
    assert_int_equal(agent_record_kind(record), kind);
    assert_int_equal(record[1] >> TG_AGENT_TEAM_SHIFT, low_team);
    assert_int_equal(record[3], argument);
}

static void expect_region(struct agent_ring *ring, uint64_t team)
{
    uint64_t low = team & TG_AGENT_TEAM_MASK;
    expect_record(ring, TG_RECORD_OMP_PARALLEL_BEGIN, 0, team);
    expect_record(ring, TG_RECORD_OMP_IMPLICIT_BEGIN, low, team);
    expect_record(ring, TG_RECORD_OMP_ZONE_BEGIN, low, TG_OMP_SCHEDULE_NONE);
    expect_record(ring, TG_RECORD_OMP_ZONE_END, low, 0);
    for (uint64_t instance = 1; instance <= 2; instance++) {
        expect_record(ring, TG_RECORD_OMP_SYNC_BEGIN, low, instance);
        expect_record(ring, TG_RECORD_OMP_SYNC_END, low, instance);
    }
    expect_record(ring, TG_RECORD_OMP_IMPLICIT_END, low, 0);
    expect_record(ring, TG_RECORD_OMP_PARALLEL_END, 0, team);
}

static void what_a_region_has_comes_again_with_the_next(void **state)
{
    (void)state;
    enum { TIMES = 40, RECORDS = 10 };
    const uint64_t first = (UINT64_C(1) << 28) - 20; /* so that the low bits begin anew on the way */
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    go_to_the_first_half(ring);
    tg_openmp_return(&(struct tg_openmp_frame){0}); /* outside of all, whatever was recorded before */
    for (uint64_t i = 0; i < 3; i++)
        record_region(first + i);
    uint64_t before = ring->header->head;
    for (uint64_t i = 3; i < TIMES; i++)
        record_region(first + i * 7 - 2);
    assert_int_equal(ring->header->head - before, (TIMES - 3) * RECORDS * 16);
    for (uint64_t i = 0; i < 3; i++)
        expect_region(ring, first + i);
    for (uint64_t i = 3; i < TIMES; i++)
        expect_region(ring, first + i * 7 - 2);
    /* earlier teams come again, too; those that are further away than a number can say are whole */
    const uint64_t teams[] = {first - 1000, first + (UINT64_C(1) << 22), first - 3};
    for (size_t i = 0; i < sizeof teams / sizeof *teams; i++) {
        record_region(teams[i]);
        expect_region(ring, teams[i]);
    }
}

static void a_task_has_its_parent(void **state)
{
    (void)state;
    enum { TIMES = 20 };
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    go_to_the_first_half(ring);
    uint64_t before = ring->header->head;
    for (uint64_t i = 0; i < TIMES; i++)
        tg_openmp_task_create((void *)0x1234, 1, 500 - i, i * i, (void *)0x5678, 2, NULL, 0);
    assert_int_equal(ring->header->head - before, 64 + (TIMES - 1) * 32);
    for (uint64_t i = 0; i < TIMES; i++) {
        const uint64_t *record = agent_ring_next(ring);
        assert_int_equal(agent_record_kind(record), TG_RECORD_OMP_TASK_CREATE);
        const uint64_t expected[] = {tg_agent_place((void *)0x1234, 1, 0), 500 - i, i * i, 0x5678, 2, 0};
        assert_memory_equal(record + 2, expected, sizeof expected);
    }
}

/* Many more records come again than there is room for what they repeat: it is theirs that came lately, and none is taken for
 * another one (next looks at serials). */
static void repeats_are_filled_anew(void **state)
{
    (void)state;
    enum { RECORDS = 20000, TIMES = 3 };
    agent_recorder_skip_all();
    struct agent_ring *ring = agent_recorder_ring_of(gettid());
    uint64_t n_short = 0;
    for (uint64_t i = 0; i < RECORDS; i++) {
        uint64_t before = ring->header->head;
        for (int k = 0; k < TIMES; k++)
            tg_agent_record2(TG_RECORD_OMP_MUTEX_ENTER, i, i << 40 ^ i);
        n_short += ring->header->head - before < TIMES * 32;
        for (int k = 0; k < TIMES; k++) {
            const uint64_t *record = agent_ring_next(ring);
            assert_non_null(record);
            assert_int_equal(agent_record_kind(record), TG_RECORD_OMP_MUTEX_ENTER);
            assert_int_equal(record[2], i);
            assert_int_equal(record[3], i << 40 ^ i);
        }
        agent_ring_give_back(ring);
    }
    assert_true(n_short > 10 * TG_AGENT_REPEATS);
}

static void finds_the_next_definition(void **state)
{
    (void)state;
    /* the "agent" is this program: what comes behind are its libraries */
    assert_ptr_equal(tg_agent_next("getpagesize"), (void *)(uintptr_t)getpagesize);
    assert_null(tg_agent_next("no_such_function_anywhere"));
    assert_null(tg_agent_next("main"));
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(observes_for_a_recorder_alone),
        cmocka_unit_test(refuses_what_others_can_write),
        cmocka_unit_test(keeps_records_in_order),
        cmocka_unit_test(a_handler_may_interrupt),
        cmocka_unit_test(a_handler_may_record_too_much),
        cmocka_unit_test(a_handler_may_jump_away),
        cmocka_unit_test(what_comes_again_takes_two_words),
        cmocka_unit_test(what_is_counted_comes_again),
        cmocka_unit_test(what_a_region_has_comes_again_with_the_next),
        cmocka_unit_test(a_task_has_its_parent),
        cmocka_unit_test(repeats_are_filled_anew),
        cmocka_unit_test(finds_the_next_definition),
    };
    return cmocka_run_group_tests(tests, agent_recorder_open, agent_recorder_remove);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--observes") == 0)
        return tg_agent_observes(0);
    return agent_recorder_run(argv, run);
}
