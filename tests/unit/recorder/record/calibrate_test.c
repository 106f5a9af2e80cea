#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/engine/engine.h"
#include "recorder/record/calibrate.h"

/* A measurement of limited time may leave its child behind, killed, where there was no processor for it to end on. */
static void wait_for_killed_children(void)
{
    while (waitpid(-1, NULL, __WALL) > 0)
        continue;
    assert_int_equal(errno, ECHILD);
}

static const struct tg_load_pace storm = {.work_ns = 60 * 1000};
static const struct tg_load_pace imports = {.work_ns = 120 * 1000, .is_sparse = true};

/* No machine switches twice to a tracer and back in less than 100 ns, nor needs a tenth of a second for
 * it. */
static void costs_are_plausible(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    assert_null(tg_calibrate_stop_cost(&cost));
    assert_in_range(cost.stop_ns, 100, 100000000);
    assert_in_range(cost.tracer_ns, 50, 100000000);
    assert_true(cost.tracer_ns <= cost.stop_ns); /* a part, all of it where other programs take the rest */
    assert_in_range(cost.samples, 90, 100000);
    assert_in_range(cost.together_ns, 100, 100000000);
}

static void reading_a_library_costs_more_than_seeing_none(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    assert_null(tg_calibrate_stop_cost(&cost));
    assert_in_range(cost.read.median, 100, 100000000);
    assert_true(cost.read.low <= cost.read.median && cost.read.median <= cost.read.high);
}

static void a_brief_one_says_the_same_with_fewer_samples(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    assert_null(tg_calibrate_briefly(UINT64_MAX, &storm, &cost));
    assert_int_equal(cost.samples, 60);
    assert_in_range(cost.stop_ns, 100, 100000000);
    assert_true(cost.stop.low <= cost.stop.median && cost.stop.median <= cost.stop.high);
    assert_true(cost.hidden.high <= cost.stop.high);
    assert_true(cost.read.high > 0);
    assert_int_equal(cost.sparse_stop.high, 0); /* such loads are not far apart */
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}

static void loads_far_apart_have_prices_of_their_own(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    assert_null(tg_calibrate_briefly(UINT64_MAX, &imports, &cost));
    assert_int_equal(cost.samples, 24);
    assert_in_range(cost.stop_ns, 100, 100000000);
    assert_true(cost.read.high > 0);
    assert_true(cost.sparse_stop.high > 0 && cost.sparse_hidden.high <= cost.sparse_stop.high);
}

/* The longer the measurement may take, the more groups of 6 loads of two stops there are. */
static void the_time_decides_how_many_are_measured(void **state)
{
    (void)state;
    for (uint64_t within_us = 500; within_us < 8000; within_us += 250) {
        struct tg_stop_cost cost = {0};
        struct tg_error *error = tg_calibrate_briefly(within_us * 1000, &storm, &cost);
        if (error == NULL) {
            assert_in_range(cost.samples, 12, 60);
            assert_int_equal(cost.samples % 12, 0);
        }
        tg_error_destroy(error);
        wait_for_killed_children();
    }
}

static void few_stops_far_apart_are_no_quartiles(void **state)
{
    (void)state;
    for (uint64_t within_us = 500; within_us < 8000; within_us += 250) {
        struct tg_stop_cost cost = {0};
        struct tg_error *error = tg_calibrate_briefly(within_us * 1000, &imports, &cost);
        if (error == NULL) {
            assert_in_range(cost.samples, 16, 24);
            assert_true(cost.sparse_stop.high > 0);
        }
        tg_error_destroy(error);
        wait_for_killed_children();
    }
}

static bool children_hang;

static void hang(void)
{
    while (children_hang)
        pause();
}

/* As where there is no processor for it. (Were it waited for, this would last for ever: it ends when it is killed.) */
static void a_child_that_never_runs_is_not_waited_for(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    uint64_t start_ns = tg_engine_now_ns();
    children_hang = true;
    struct tg_error *error = tg_calibrate_briefly(2000000, &storm, &cost);
    children_hang = false;
    assert_non_null(error);
    tg_error_destroy(error);
    assert_true(tg_engine_now_ns() - start_ns >= 2000000);
    wait_for_killed_children();
}

static void nothing_is_left_behind(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    assert_null(tg_calibrate_stop_cost(&cost));
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_plausible),
        cmocka_unit_test(reading_a_library_costs_more_than_seeing_none),
        cmocka_unit_test(a_brief_one_says_the_same_with_fewer_samples),
        cmocka_unit_test(loads_far_apart_have_prices_of_their_own),
        cmocka_unit_test(the_time_decides_how_many_are_measured),
        cmocka_unit_test(few_stops_far_apart_are_no_quartiles),
        cmocka_unit_test(a_child_that_never_runs_is_not_waited_for),
        cmocka_unit_test(nothing_is_left_behind),
    };
    pthread_atfork(NULL, NULL, hang);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
