#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/wait.h>

#include "recorder/record/calibrate.h"

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
    assert_in_range(cost.samples, 100, 100000);
}

static void reading_a_library_costs_more_than_seeing_none(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    assert_null(tg_calibrate_stop_cost(&cost));
    assert_in_range(cost.read.median, 100, 100000000);
    assert_true(cost.read.low <= cost.read.median && cost.read.median <= cost.read.high);
}

/* On a busy machine the time may be too short. */
static void a_brief_one_says_the_same_with_fewer_samples(void **state)
{
    (void)state;
    struct tg_stop_cost cost = {0};
    struct tg_error *error = NULL;
    for (int i = 0; i < 20 && cost.samples == 0; i++) {
        tg_error_destroy(error);
        error = tg_calibrate_briefly(&cost);
    }
    if (error != NULL) {
        tg_error_destroy(error);
        skip();
    }
    assert_in_range(cost.samples, 16, 60);
    assert_in_range(cost.stop_ns, 100, 100000000);
    assert_true(cost.stop.low <= cost.stop.median && cost.stop.median <= cost.stop.high);
    assert_true(cost.hidden.high <= cost.stop.high);
    assert_true(cost.read.high > 0);
    assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
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
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
