#include "analyzer/finding/stillness.h"

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "tests/unit/analyzer/verdict/job.h"

static const uint64_t second_ns = UINT64_C(1000) * MS;
static struct tg_stillness stillness;
static struct tg_verdict_input input;

static void measure(void)
{
    input = input_of_job();
    tg_stillness_measure(&input, &stillness);
}

static int tear_down(void **state)
{
    (void)state;
    end_job();
    return 0;
}

static void a_running_job_is_judged_at_its_present(void **state)
{
    (void)state;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 5);
    input = input_of_job();
    input.now_ns = job.now_ns + 5 * second_ns;
    tg_stillness_measure(&input, &stillness);
    assert_int_equal(stillness.at_ns, input.now_ns);
    assert_false(stillness.was_ended);
    assert_int_equal(tg_stillness_lasted(&stillness, 1, job.now_ns), 5 * second_ns);
}

static void what_comes_after_a_request_to_end_comes_of_it(void **state)
{
    (void)state;
    begin_job(2);
    uint64_t since_ns = job.now_ns;
    job.now_ns += 3 * second_ns;
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGINT, .sender_pid = 7, .sender = "sh");
    uint64_t asked_ns = job.now_ns;
    job.now_ns += second_ns;
    FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGKILL);
    measure();
    assert_true(stillness.was_asked);
    assert_int_equal(stillness.at_ns, asked_ns);
    assert_int_equal(tg_stillness_lasted(&stillness, 1, since_ns), asked_ns - since_ns);
    assert_int_equal(tg_stillness_lasted(&stillness, 1, asked_ns + 1), 0);
    assert_false(tg_stillness_had_ended(&stillness, 1));
}

static void a_launcher_that_ends_its_ranks_asks_nothing(void **state)
{
    (void)state;
    begin_job(2);
    FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_SIGNAL, .status = SIGSEGV);
    uint64_t ended_ns = job.now_ns;
    FEED(FIRST_PID + 1, SIGNAL, signal, .signal = SIGTERM, .sender_pid = LAUNCHER, .sender = "mpirun");
    measure();
    assert_false(stillness.was_asked);
    assert_true(stillness.was_ended);
    assert_int_equal(stillness.at_ns, ended_ns);
    assert_true(tg_stillness_had_ended(&stillness, 1));
}

static void a_wait_is_long_beside_those_that_ended(void **state)
{
    (void)state;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 5);
    job.now_ns += second_ns;
    LEAVE(0, "MPI_Recv");
    measure();
    assert_false(tg_stillness_is_long(&stillness, TG_WAIT_MPI, 2 * second_ns));
    assert_int_equal(stillness.passed_over[TG_WAIT_MPI], 1);
    assert_int_equal(stillness.longest_ns[TG_WAIT_MPI], 2 * second_ns);
    assert_true(tg_stillness_is_long(&stillness, TG_WAIT_MPI, 4 * second_ns));
}

static void nothing_below_two_seconds_is_long(void **state)
{
    (void)state;
    begin_job(2);
    measure();
    assert_false(tg_stillness_is_long(&stillness, TG_WAIT_MPI, 2 * second_ns - 1));
    assert_true(tg_stillness_is_long(&stillness, TG_WAIT_MPI, 2 * second_ns));
}

static void large_messages_take_their_time(void **state)
{
    (void)state;
    begin_job(2);
    measure();
    assert_true(tg_stillness_is_closed(&stillness, TG_WAIT_MPI, second_ns / 2, 8));
    assert_false(tg_stillness_is_closed(&stillness, TG_WAIT_MPI, second_ns / 2, 32 << 20));
    assert_true(tg_stillness_is_closed(&stillness, TG_WAIT_MPI, 2 * second_ns, 32 << 20));
}

static void time_in_which_a_process_is_stopped_does_not_count(void **state)
{
    (void)state;
    begin_job(2);
    uint64_t since_ns = job.now_ns;
    job.now_ns += second_ns;
    FEED(FIRST_PID, GROUP_STOP, group_stop, .signal = SIGSTOP);
    uint64_t stopped_ns = job.now_ns;
    job.now_ns += 5 * second_ns;
    FEED(FIRST_PID + 1, SIGNAL, signal, .signal = SIGUSR1);
    measure();
    assert_true(tg_stillness_was_stopped(&stillness, 1));
    assert_int_equal(tg_stillness_lasted(&stillness, 1, since_ns), stopped_ns - since_ns);
}

static void time_in_which_a_debugger_stops_a_process_does_not_count(void **state)
{
    (void)state;
    begin_job(2);
    uint64_t since_ns = job.now_ns;
    job.now_ns += second_ns;
    FEED(FIRST_PID, CONTROL_STOPPED, control_stopped, .dpid = 2, .dtid = 1);
    uint64_t stopped_ns = job.now_ns;
    FEED(FIRST_PID, CONTROL_STOPPED, control_stopped, .dpid = 2, .dtid = 2);
    job.now_ns += 5 * second_ns;
    FEED(FIRST_PID, CONTROL_RESUMED, control_resumed, .dpid = 2, .dtid = 2);
    job.now_ns += second_ns;
    measure();
    assert_int_equal(tg_stillness_lasted(&stillness, 1, since_ns), stopped_ns - since_ns);
    FEED(FIRST_PID, CONTROL_RESUMED, control_resumed, .dpid = 2, .dtid = 1);
    uint64_t resumed_ns = job.now_ns;
    job.now_ns += second_ns;
    FEED(FIRST_PID + 1, SIGNAL, signal, .signal = SIGUSR1);
    measure();
    assert_int_equal(tg_stillness_lasted(&stillness, 1, since_ns), stillness.at_ns - resumed_ns);
}

static void a_rank_that_exits_begins_to_with_its_first_thread(void **state)
{
    (void)state;
    begin_job(2);
    TOGETHER(0, "MPI_Init", 0, 0);
    LEAVE(0, "MPI_Init");
    feed(FIRST_PID, (struct tg_event){.kind = TG_EVENT_THREAD_EXIT, .tid = 1000});
    uint64_t began_ns = job.now_ns;
    job.now_ns += 10 * MS;
    FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
    measure();
    assert_int_equal(tg_stillness_earliest_end(&input, tg_process_model_at(job.processes, 1)), began_ns);
    assert_int_equal(stillness.at_ns, began_ns);
}

/* A busy machine gave its last thread no processor for four seconds; its launcher had killed the others meanwhile. What it
 * does after a thread has ended says that it was not ending then. */
static void a_rank_that_exits_slowly_begins_to_with_its_first_thread(void **state)
{
    (void)state;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        begin_job(2);
        TOGETHER(0, "MPI_Init", 0, 0);
        LEAVE(0, "MPI_Init");
        feed(FIRST_PID, (struct tg_event){.kind = TG_EVENT_THREAD_EXIT, .tid = 1000});
        uint64_t began_ns = job.now_ns;
        job.now_ns += second_ns;
        if (goes_on)
            TOGETHER(0, "MPI_Barrier", 1, 0);
        job.now_ns += 3 * second_ns;
        FEED(FIRST_PID, PROCESS_EXIT, process_exit, .how = TG_EXIT_STATUS);
        measure();
        assert_int_equal(tg_stillness_earliest_end(&input, tg_process_model_at(job.processes, 1)),
                         goes_on ? job.now_ns : began_ns);
        if (!goes_on)
            tear_down(state);
    }
}

/* The whole machine was frozen for 35 s, and a healthy job was then ended. */
static void the_waits_of_a_starved_job_are_not_long(void **state)
{
    (void)state;
    struct tg_stack_model *stacks;
    begin_job(2);
    POINT(0, "MPI_Recv", 1, 5);
    job.now_ns += 35 * second_ns;
    FEED(LAUNCHER, SIGNAL, signal, .signal = SIGTERM, .sender_pid = 7, .sender = "sh");
    for (uint64_t taken = 0; taken < 2; taken++) {
        assert_null(tg_stack_model_create(&stacks));
        const struct tg_event look = {.kind = TG_EVENT_STACK_SNAPSHOT,
                                      .time_ns = job.now_ns,
                                      .stack_snapshot = {.threads = 8, .taken = taken, .unstopped = 5}};
        assert_null(tg_stack_model_feed(stacks, &look, SIZE_MAX));
        input = input_of_job();
        input.stacks = stacks;
        tg_stillness_measure(&input, &stillness);
        assert_int_equal(tg_stillness_is_long(&stillness, TG_WAIT_MPI, 35 * second_ns), taken > 0);
        assert_int_equal(tg_stillness_is_closed(&stillness, TG_WAIT_OPENMP, 35 * second_ns, 0), taken > 0);
        tg_stack_model_destroy(stacks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_waits_of_a_starved_job_are_not_long, tear_down),
        cmocka_unit_test_teardown(a_running_job_is_judged_at_its_present, tear_down),
        cmocka_unit_test_teardown(what_comes_after_a_request_to_end_comes_of_it, tear_down),
        cmocka_unit_test_teardown(a_launcher_that_ends_its_ranks_asks_nothing, tear_down),
        cmocka_unit_test_teardown(a_wait_is_long_beside_those_that_ended, tear_down),
        cmocka_unit_test_teardown(nothing_below_two_seconds_is_long, tear_down),
        cmocka_unit_test_teardown(large_messages_take_their_time, tear_down),
        cmocka_unit_test_teardown(time_in_which_a_process_is_stopped_does_not_count, tear_down),
        cmocka_unit_test_teardown(time_in_which_a_debugger_stops_a_process_does_not_count, tear_down),
        cmocka_unit_test_teardown(a_rank_that_exits_begins_to_with_its_first_thread, tear_down),
        cmocka_unit_test_teardown(a_rank_that_exits_slowly_begins_to_with_its_first_thread, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
