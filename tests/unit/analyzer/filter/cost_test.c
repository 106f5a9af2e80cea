#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/filter/cost.h"

#include <string.h>

static const struct tg_cost_basis bare = {.measured_stops = 3};
static const struct tg_cost_basis recorded = {.floor_source = TG_COST_FLOOR_RECORDED,
                                              .floor = {.stop_ns = 30000, .tracer_ns = 12000, .samples = 900},
                                              .measured_stops = 3,
                                              .handle_ns = 10000,
                                              .handled_libraries = 4};

static void a_measured_stop_costs_what_the_tracer_saw_and_what_it_cannot_see(void **state)
{
    (void)state;
    struct tg_cost cost = {0};
    tg_cost_add_stop(&recorded, 50000, &cost);
    assert_int_equal(cost.ns, 68000);
    assert_int_equal(cost.estimated_ns, 18000);
    tg_cost_add_stop(&bare, 50000, &cost);
    assert_int_equal(cost.ns, 118000);
    assert_true(tg_cost_is_known(&cost));
}

static void an_unmeasured_stop_costs_the_floor_or_is_unknown(void **state)
{
    (void)state;
    struct tg_cost cost = {0};
    tg_cost_add_stop(&recorded, 0, &cost);
    assert_int_equal(cost.ns, 30000);
    assert_int_equal(cost.estimated_ns, 30000);
    assert_true(tg_cost_is_known(&cost));
    tg_cost_add_stop(&bare, 0, &cost);
    assert_int_equal(cost.ns, 30000);
    assert_int_equal(cost.unknown_stops, 1);
    assert_false(tg_cost_is_known(&cost));
}

static void unmeasured_handling_costs_the_mean(void **state)
{
    (void)state;
    struct tg_cost cost = {0};
    tg_cost_add_handling(&recorded, 700, 2, &cost);
    assert_int_equal(cost.ns, 700);
    tg_cost_add_handling(&recorded, 0, 3, &cost);
    assert_int_equal(cost.ns, 700 + 7500);
    assert_int_equal(cost.estimated_ns, 7500);
    tg_cost_add_handling(&bare, 0, 3, &cost);
    assert_int_equal(cost.unknown_handles, 3);
    assert_true(tg_cost_is_known(&cost));
}

static void a_floor_that_makes_no_sense_hides_nothing(void **state)
{
    (void)state;
    struct tg_cost_basis basis = recorded;
    basis.floor.tracer_ns = 99999;
    assert_int_equal(tg_cost_hidden_ns(&basis), 0);
    assert_int_equal(tg_cost_hidden_ns(&bare), 0);
}

static void sums_saturate_and_never_go_below_zero(void **state)
{
    (void)state;
    struct tg_cost cost = {.ns = UINT64_MAX - 1};
    tg_cost_add_stop(&recorded, 50000, &cost);
    assert_int_equal(cost.ns, UINT64_MAX);
    struct tg_cost small = {.ns = 10, .estimated_ns = 8};
    tg_cost_subtract(5, &small);
    assert_int_equal(small.ns, 5);
    assert_int_equal(small.estimated_ns, 5);
    tg_cost_subtract(500, &small);
    assert_int_equal(small.ns, 0);
}

static void the_description_says_where_figures_come_from(void **state)
{
    (void)state;
    char text[300];
    tg_cost_describe(&recorded, text, sizeof text);
    assert_string_equal(text, "the trace's own 3 loader stops, plus 18.0 us a stop that a tracer cannot see "
                              "(measured when recording began)");
    struct tg_cost_basis basis = {.unmeasured_stops = 7};
    tg_cost_describe(&basis, text, sizeof text);
    assert_non_null(strstr(text, "--calibrate"));
    basis.floor_source = TG_COST_FLOOR_CALIBRATED;
    basis.floor = recorded.floor;
    tg_cost_describe(&basis, text, sizeof text);
    assert_string_equal(text, "no stop was measured in the trace: 30.0 us a stop (calibrated on this machine "
                              "now, 900 samples)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measured_stop_costs_what_the_tracer_saw_and_what_it_cannot_see),
        cmocka_unit_test(an_unmeasured_stop_costs_the_floor_or_is_unknown),
        cmocka_unit_test(unmeasured_handling_costs_the_mean),
        cmocka_unit_test(a_floor_that_makes_no_sense_hides_nothing),
        cmocka_unit_test(sums_saturate_and_never_go_below_zero),
        cmocka_unit_test(the_description_says_where_figures_come_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
