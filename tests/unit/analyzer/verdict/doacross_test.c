/* Threads that wait at depend(sink): for an iteration that its thread left out, or that was done, and the wait is over but
 * for a turn on a processor. */
#include "analyzer/verdict/verdict.h"

#include <stdio.h>
#include <string.h>
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/analyzer/verdict/judged.h"

enum { TEAM = 4, LOOP_AT = 0x10, SINK_AT = 0x20, SOURCE_AT = 0x30 };

#define OF_THREAD(thread, symbol, member, ...)                                                               \
    feed(FIRST_PID,                                                                                          \
         (struct tg_event){.kind = TG_EVENT_##symbol,                                                        \
                           .tid = FIRST_PID + (thread),                                                      \
                           .member = {.team = TEAM, .thread_num = (uint64_t)(thread), __VA_ARGS__}})

static void say(int thread, uint64_t what, struct tg_omp_index *indices, size_t count)
{
    OF_THREAD(thread, OMP_ITERATION, omp_iteration, .what = what,
              .code = what == TG_OMP_ITERATION_SINK ? SINK_AT : SOURCE_AT, .indices = {indices, count});
}

/* THREAD is done with iteration AT. */
static void post(int thread, int64_t at)
{
    say(thread, TG_OMP_ITERATION_SOURCE, &(struct tg_omp_index){.index = at}, 1);
}

static void wait_as_seen(int thread, struct tg_omp_index *at, size_t count, uint64_t seen)
{
    say(thread, TG_OMP_ITERATION_SINK, at, count);
    OF_THREAD(thread, OMP_SYNC_BEGIN, omp_sync_begin, .sync = TG_OMP_SYNC_DOACROSS, .code = SINK_AT,
              .seen = seen);
}

static void wait_for(int thread, int64_t at)
{
    wait_as_seen(thread, &(struct tg_omp_index){.index = at}, 1, TG_OMP_WRAPPED);
}

/* Two threads with the iterations 0 to MIDDLE - 1, and from there to 9. */
static void begin_loop(uint64_t middle, uint64_t stride)
{
    begin_job(1);
    FEED(FIRST_PID, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = TEAM);
    for (int thread = 0; thread < 2; thread++) {
        OF_THREAD(thread, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team_size = 2);
        OF_THREAD(thread, OMP_ZONE_BEGIN, omp_zone_begin, .zone = TG_OMP_ZONE_DOACROSS_LOOP, .code = LOOP_AT);
        OF_THREAD(thread, OMP_CHUNK, omp_chunk, .first = thread == 0 ? 0 : middle,
                  .last = thread == 0 ? middle - 1 : 9, .stride = stride);
    }
}

static void leave_loop(int thread)
{
    OF_THREAD(thread, OMP_ZONE_END, omp_zone_end, .zone = TG_OMP_ZONE_DOACROSS_LOOP);
    OF_THREAD(thread, OMP_IMPLICIT_END, omp_implicit_end, .code = 0);
}

/* Thread 1 has waited for iteration 2 of thread 0 for long when that is done, and gets no turn. */
static void who_lacks_a_turn_waits_for_nobody(void **state)
{
    for (int leaves = 0; leaves < 2; leaves++) {
        begin_loop(4, 0);
        wait_for(1, 2);
        for (int64_t i = 0; i < 3 + leaves; i++)
            post(0, i);
        if (leaves)
            leave_loop(0);
        interrupt_after(1000);
        check_nobody_blamed();
        if (!leaves)
            tear_down(state);
    }
}

/* Thread 0 is stopped where it asks for the iteration before the first, as clang's code does; thread 1 waits for one of its. */
static void who_begins_waits_for_nobody(void **state)
{
    (void)state;
    begin_loop(4, 0);
    wait_as_seen(0, &(struct tg_omp_index){.index = -1}, 1, TG_OMP_OMPT);
    wait_for(1, 3);
    interrupt_after(100000);
    check_nobody_blamed();
}

/* libgomp waits for ever for an iteration that there is none of, which GCC's code asks for where variables are unsigned. */
static void what_no_loop_has_is_told(void **state)
{
    static const struct {
        struct tg_omp_index at[2];
        size_t count;
        const char *told;
    } sinks[] = {
        {{{.index = -1}}, 1, "for iteration -1, which the loop does not have"},
        {{{.index = 0}, {.index = -1}}, 2, "for iteration (0, -1), which the loop does not have"},
        {{{.index = 4294967295}},
         1,
         "for iteration 4294967295 (counted from 0), which no thread has come to"},
        /* thread 0 is behind it, but the inner loop has not been seen to come so far */
        {{{.index = 0}, {.index = 2}},
         2,
         "for iteration (0, 2) (counted from 0), which no thread has come to"},
    };
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
        struct tg_omp_index done = {.index = 0}, at[] = {sinks[i].at[0], sinks[i].at[1]};
        begin_loop(4, 0);
        say(0, TG_OMP_ITERATION_SOURCE, (struct tg_omp_index[]){done, done}, sinks[i].count);
        for (int thread = 0; thread < 2; thread++)
            wait_as_seen(thread, at, sinks[i].count, TG_OMP_WRAPPED);
        interrupt_after(100000);
        check_first(TG_FINDING_BARRIER, "0", sinks[i].told);
        tear_down(state);
    }
}

/* The iteration was done before thread 1 came. */
static void who_came_late_waits_for_nobody(void **state)
{
    for (int leaves = 0; leaves < 2; leaves++) {
        begin_loop(4, 0);
        for (int64_t i = 0; i < 4; i++)
            post(0, i);
        if (leaves)
            leave_loop(0);
        wait_for(1, 3);
        interrupt_after(1000);
        check_nobody_blamed();
        if (!leaves)
            tear_down(state);
    }
}

static void who_left_an_iteration_out_is_named(void **state)
{
    for (int leaves = 0; leaves < 2; leaves++) {
        begin_loop(4, 0);
        wait_for(1, 2);
        for (int64_t i = 0; i < 4; i++)
            if (i != 2)
                post(0, i);
        if (leaves)
            leave_loop(0);
        interrupt_after(1000);
        check_first(TG_FINDING_BARRIER, "0",
                    "worker 1 (thread 100) skipped the depend(source) at 0x30 of iteration 2");
        if (!leaves)
            tear_down(state);
    }
}

/* Of strides only the first chunk is told: a thread that is through has left out whatever another one still waits for. */
static void who_left_an_iteration_of_a_stride_out_is_named(void **state)
{
    (void)state;
    begin_loop(1, 2);
    post(0, 0);
    wait_for(1, 2);
    post(0, 4);
    leave_loop(0);
    interrupt_after(1000);
    check_first(TG_FINDING_BARRIER, "0", "skipped the depend(source) at 0x30 of iteration 2");
}

/* Three threads, of which the last two wait at the ordered section of the loop that they came to after PLAIN others; thread 0,
 * which is to execute the first iterations, COMES to it. */
static void wait_for_turns(int plain, bool comes)
{
    begin_job(1);
    FEED(FIRST_PID, OMP_PARALLEL_BEGIN, omp_parallel_begin, .new_team = TEAM);
    for (int nth = 0; nth < 3; nth++) {
        int thread = nth == 0 ? 0 : 3 - nth; /* the last one is worker 2 */
        OF_THREAD(thread, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team_size = 3);
        for (int i = 0; i < plain; i++) {
            OF_THREAD(thread, OMP_ZONE_BEGIN, omp_zone_begin, .zone = TG_OMP_ZONE_LOOP);
            OF_THREAD(thread, OMP_ZONE_END, omp_zone_end, .zone = TG_OMP_ZONE_LOOP);
        }
        if (thread > 0 || comes) {
            OF_THREAD(thread, OMP_ZONE_BEGIN, omp_zone_begin, .zone = TG_OMP_ZONE_ORDERED_LOOP);
            OF_THREAD(thread, OMP_CHUNK, omp_chunk, .first = 2 * (uint64_t)thread,
                      .last = 2 * (uint64_t)thread + 1);
        }
    }
    for (int thread = 1; thread < 3; thread++)
        OF_THREAD(thread, OMP_MUTEX_WAIT, omp_mutex_wait, .mutex = TG_OMP_MUTEX_ORDERED);
}

/* Thread 0 begins a region of its own, and a loop in that. */
static void begin_inner_loop(void)
{
    enum { INNER = 9 };
    FEED(FIRST_PID, OMP_PARALLEL_BEGIN, omp_parallel_begin, .team = TEAM, .new_team = INNER);
    FEED(FIRST_PID, OMP_IMPLICIT_BEGIN, omp_implicit_begin, .team = INNER, .team_size = 1, .level = 1);
    FEED(FIRST_PID, OMP_ZONE_BEGIN, omp_zone_begin, .team = INNER, .zone = TG_OMP_ZONE_LOOP);
}

static void end_inner_loop(void)
{
    enum { INNER = 9 };
    FEED(FIRST_PID, OMP_ZONE_END, omp_zone_end, .team = INNER, .zone = TG_OMP_ZONE_LOOP);
    FEED(FIRST_PID, OMP_IMPLICIT_END, omp_implicit_end, .team = INNER);
    FEED(FIRST_PID, OMP_PARALLEL_END, omp_parallel_end, .team = TEAM, .ended_team = INNER);
}

static bool has_said(const char *words)
{
    for (size_t i = 0; i < verdict.count; i++)
        if (strstr(verdict.findings[i].text, words) != NULL)
            return true;
    return false;
}

/* Thread 0 is in the ordered loop, and in a region inside of it: that is no reason to say that it has not come to that loop. */
static void who_is_in_a_loop_inside_has_come(void **state)
{
    (void)state;
    wait_for_turns(0, true);
    begin_inner_loop();
    interrupt_after(100000);
    assert_true(has_said("waiting for the ordered section"));
    assert_false(has_said("worker 1 (thread 100"));
    assert_false(has_said("executed by worker 3")); /* which waits as well */
    assert_false(has_said("has not reached the loop"));
}

/* Nor where the region inside is over. */
static void who_was_in_a_loop_inside_has_come(void **state)
{
    (void)state;
    wait_for_turns(1, true);
    begin_inner_loop();
    end_inner_loop();
    interrupt_after(100000);
    assert_true(has_said("waiting for the ordered section"));
    assert_false(has_said("has not reached the loop"));
}

/* But who was in an inner one before, and has not come, is told; and loops of a team are counted by themselves. */
static void who_was_in_a_loop_before_has_not_come(void **state)
{
    (void)state;
    wait_for_turns(1, false);
    begin_inner_loop();
    end_inner_loop();
    interrupt_after(100000);
    assert_true(has_said(
        "Worker 1 (thread 100, number 0 of its team), which executes an earlier iteration, has not reached "
        "the loop"));
    tear_down(state);
    wait_for_turns(1, false);
    begin_inner_loop();
    end_inner_loop();
    OF_THREAD(0, OMP_ZONE_BEGIN, omp_zone_begin, .zone = TG_OMP_ZONE_ORDERED_LOOP);
    OF_THREAD(0, OMP_CHUNK, omp_chunk, .first = 0, .last = 1);
    interrupt_after(100000);
    assert_true(has_said("iterations 0 to 1 come first, executed by worker 1 (thread 100)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(who_lacks_a_turn_waits_for_nobody, tear_down),
        cmocka_unit_test_teardown(who_begins_waits_for_nobody, tear_down),
        cmocka_unit_test(what_no_loop_has_is_told),
        cmocka_unit_test_teardown(who_came_late_waits_for_nobody, tear_down),
        cmocka_unit_test_teardown(who_left_an_iteration_out_is_named, tear_down),
        cmocka_unit_test_teardown(who_left_an_iteration_of_a_stride_out_is_named, tear_down),
        cmocka_unit_test_teardown(who_is_in_a_loop_inside_has_come, tear_down),
        cmocka_unit_test_teardown(who_was_in_a_loop_inside_has_come, tear_down),
        cmocka_unit_test_teardown(who_was_in_a_loop_before_has_not_come, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
