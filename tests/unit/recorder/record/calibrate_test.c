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
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
