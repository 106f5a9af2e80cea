#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/filter/cost.h"
#include "analyzer/filter/pace.h"

#include <string.h>

static const struct tg_cost_basis bare = {.measured_stops = 3};
static const struct tg_cost_basis recorded = {.floor_source = TG_COST_FLOOR_RECORDED,
                                              .floor = {.stop_ns = 30000, .tracer_ns = 12000, .samples = 900},
                                              .measured_stops = 3,
                                              .dlopened = {10000, {4, 0}}};

static const struct tg_pace close_by = {.gap_ns = UINT64_MAX},
                            far_apart = {.sparse = true, .gap_ns = UINT64_MAX};

static void a_measured_stop_costs_what_the_tracer_saw_and_what_it_cannot_see(void **state)
{
    (void)state;
    struct tg_cost cost = {0};
    tg_cost_add_stop(&recorded, 50000, &close_by, &cost);
    assert_int_equal(cost.ns, 68000);
    assert_int_equal(cost.estimated_ns, 18000);
    tg_cost_add_stop(&bare, 50000, &close_by, &cost);
    assert_int_equal(cost.ns, 118000);
    assert_true(tg_cost_is_known(&cost));
}

static void an_unmeasured_stop_costs_the_floor_or_is_unknown(void **state)
{
    (void)state;
    struct tg_cost cost = {0};
    tg_cost_add_stop(&recorded, 0, &close_by, &cost);
    assert_int_equal(cost.ns, 30000);
    assert_int_equal(cost.estimated_ns, 30000);
    assert_true(tg_cost_is_known(&cost));
    tg_cost_add_stop(&bare, 0, &close_by, &cost);
    assert_int_equal(cost.ns, 30000);
    assert_int_equal(cost.unknown_stops, 1);
    assert_false(tg_cost_is_known(&cost));
}

static void unmeasured_handling_costs_the_mean(void **state)
{
    (void)state;
    struct tg_cost cost = {0};
    const struct tg_cost_libraries three = {.count = 3};
    tg_cost_add_ns(700, &cost);
    tg_cost_add_handling(&recorded, &three, &cost);
    assert_int_equal(cost.ns, 700 + 7500);
    assert_int_equal(cost.estimated_ns, 7500);
    tg_cost_add_handling(&bare, &three, &cost);
    assert_int_equal(cost.unknown_handles, 3);
    assert_true(tg_cost_is_known(&cost));
}

/* libc and the like took 300 us each; 100 small libraries took 8 us each, had they been handled */
static void what_a_program_begins_with_says_no_more_than_a_range(void **state)
{
    (void)state;
    const struct tg_cost_basis basis = {.others = {900000, {3, 5000000}}};
    const struct tg_cost_libraries small = {100, 1600000}, large = {2, 50000000};
    struct tg_cost cost = {0}, more = {0};
    tg_cost_add_handling(&basis, &small, &cost);
    assert_true(cost.low_ns <= 800000 && cost.ns <= 800000 && cost.high_ns >= 800000);
    assert_int_equal(tg_cost_claim(&cost), TG_COST_RANGE);
    assert_int_equal(cost.high_ns, 30000000); /* none is larger than those measured */
    tg_cost_add_handling(&basis, &large, &more);
    assert_int_equal(more.low_ns, 300000);
    assert_int_equal(more.ns, 9000000);
    assert_int_equal(more.high_ns, 18000000);
}

static void many_that_dlopen_loaded_stand_for_others(void **state)
{
    (void)state;
    const struct tg_cost_basis few = {.dlopened = {320000, {31, 500000}}, .others = {900000, {3, 5000000}}},
                               many = {.dlopened = {320000, {32, 500000}}, .others = {900000, {3, 5000000}}};
    const struct tg_cost_libraries small = {100, 150000};
    struct tg_cost by_few = {0}, by_many = {0};
    tg_cost_add_handling(&few, &small, &by_few);
    assert_int_equal(by_few.ns, 96000);
    assert_int_equal(by_few.high_ns, 1032258);
    tg_cost_add_handling(&many, &small, &by_many);
    assert_int_equal(by_many.ns, 1000000);
    assert_int_equal(by_many.high_ns, 2000000);
}

static void a_floor_that_makes_no_sense_hides_nothing(void **state)
{
    (void)state;
    struct tg_cost_basis basis = recorded;
    basis.floor.tracer_ns = 99999;
    assert_int_equal(tg_cost_hidden_ns(&basis, false).median, 0);
    assert_int_equal(tg_cost_hidden_ns(&bare, true).high, 0);
}

static void sums_saturate_and_never_go_below_zero(void **state)
{
    (void)state;
    struct tg_cost cost = {.ns = UINT64_MAX - 1};
    tg_cost_add_stop(&recorded, 50000, &close_by, &cost);
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
    assert_string_equal(text,
                        "not claimed, for no loader stop was measured in the trace; a stop alone takes "
                        "30.0 us (calibrated on this machine now, 900 samples); --mode slow records their "
                        "times");
}

static const struct tg_cost_basis with_spread = {.floor_source = TG_COST_FLOOR_RECORDED,
                                                 .floor = {.stop_ns = 10000,
                                                           .tracer_ns = 7000,
                                                           .samples = 160,
                                                           .stop = {9000, 10000, 12000},
                                                           .hidden = {2900, 3000, 3200},
                                                           .sparse_stop = {30000, 40000, 60000},
                                                           .sparse_hidden = {20000, 25000, 40000}},
                                                 .measured_stops = 3};

/* A figure is claimed where what was not measured on the events leaves it within 10 %. */
static void only_what_is_within_a_tenth_is_claimed(void **state)
{
    (void)state;
    struct tg_cost close = {0}, sparse = {0}, modelled = {0}, mostly = {0}, nothing = {0};
    tg_cost_add_stop(&with_spread, 7000, &close_by, &close);
    assert_int_equal(close.ns, 10000);
    assert_int_equal(close.low_ns, 9900);
    assert_int_equal(close.high_ns, 10200);
    assert_int_equal(tg_cost_claim(&close), TG_COST_FIGURE);
    tg_cost_add_stop(&with_spread, 7000, &far_apart, &sparse);
    assert_int_equal(sparse.low_ns, 27000);
    assert_int_equal(sparse.high_ns, 47000);
    assert_int_equal(tg_cost_claim(&sparse), TG_COST_RANGE);
    tg_cost_add_stop(&with_spread, 0, &close_by, &modelled); /* never stopped for */
    assert_int_equal(tg_cost_claim(&modelled), TG_COST_UNKNOWN);
    assert_int_equal(modelled.high_ns, 60000);
    for (int i = 0; i < 200; i++)
        tg_cost_add_stop(&with_spread, 7000, &close_by, &mostly);
    tg_cost_add_stop(&with_spread, 0, &close_by, &mostly);
    assert_int_equal(tg_cost_claim(&mostly), TG_COST_FIGURE);
    nothing.unknown_readings = 1; /* fast, from what the agent saw: not 0 */
    assert_int_equal(tg_cost_claim(&nothing), TG_COST_UNKNOWN);
}

/* Of a job in which nothing stopped, on the machine where that was measured. */
static void a_price_with_reading_stands_for_stops_that_never_were(void **state)
{
    (void)state;
    struct tg_cost_basis priced = with_spread;
    priced.floor.read = (struct tg_quartiles){2000, 2500, 3500};
    struct tg_cost close = {0}, steady = {0}, sparse = {0}, unread = {0}, together = {0}, unpriced = {0};
    tg_cost_add_stop(&priced, 0, &close_by, &close);
    assert_int_equal(close.low_ns, 9000 - 1250); /* an eighth more and less */
    assert_int_equal(close.ns, 10000);
    assert_int_equal(close.high_ns, 12000 + 1250);
    assert_int_equal(tg_cost_claim(&close), TG_COST_RANGE);
    priced.floor.stop.high = 10100;
    priced.floor.stop.low = 9900; /* nobody knows whether the job would have been served as steadily */
    tg_cost_add_stop(&priced, 0, &close_by, &steady);
    assert_int_equal(tg_cost_claim(&steady), TG_COST_RANGE);
    tg_cost_add_stop(&priced, 0, &far_apart, &sparse);
    assert_int_equal(sparse.ns, 40000);
    assert_int_equal(sparse.high_ns, 60000 + 5000);
    tg_cost_add_unread(&priced, 4, false, &unread);
    assert_int_equal(unread.low_ns, 8000 - 1250);
    assert_int_equal(unread.ns, 10000);
    assert_int_equal(unread.high_ns, 14000 + 1250);
    tg_cost_add_unread(&priced, 4, true, &together);
    assert_int_equal(together.low_ns, 8000 - 1250);
    assert_int_equal(together.high_ns, 84000 + 1250);
    tg_cost_add_unread(&with_spread, 4, false, &unpriced);
    assert_int_equal(unpriced.unknown_readings, 4);
    assert_int_equal(tg_cost_claim(&unpriced), TG_COST_UNKNOWN);
}

/* As long as was measured, whatever they took singly, and a sixth more for telling of them. */
static void libraries_found_together_have_a_price_of_their_own(void **state)
{
    (void)state;
    struct tg_cost_basis priced = with_spread;
    struct tg_cost unread = {0}, singly = {0}, unmeasured = {0};
    priced.floor.read = (struct tg_quartiles){2000, 2500, 3500};
    const struct tg_cost_singly loads = {.count = 4, .ns = 10000};
    tg_cost_add_reading(&priced, 0, &loads, &unmeasured);
    assert_int_equal(unmeasured.low_ns, 10000);
    assert_int_equal(unmeasured.high_ns, 30000);
    priced.floor.together_ns = 6000;
    tg_cost_add_unread(&priced, 4, true, &unread);
    assert_int_equal(unread.ns, 28000);
    assert_int_equal(unread.low_ns, 28000 - 3500);
    assert_int_equal(unread.high_ns, 28000 + 3500);
    tg_cost_add_reading(&priced, 0, &loads, &singly);
    assert_int_equal(singly.ns, 28000);
    assert_int_equal(singly.high_ns, 28000 + 3500);
    tg_cost_add_ns(20000, &singly); /* of the whole it is less than a tenth more or less, but it is a price */
    assert_int_equal(tg_cost_claim(&singly), TG_COST_RANGE);
}

/* The time was too short for them, on a busy machine. */
static void a_price_without_stops_far_apart_has_a_wider_range(void **state)
{
    (void)state;
    struct tg_cost_basis priced = with_spread;
    struct tg_cost cost = {0};
    priced.floor.read = (struct tg_quartiles){2000, 2500, 3500};
    priced.floor.sparse_stop = priced.floor.sparse_hidden = (struct tg_quartiles){0};
    tg_cost_add_stop(&priced, 0, &far_apart, &cost);
    assert_int_equal(cost.low_ns, 9000 - 1250);
    assert_int_equal(cost.high_ns, 24000 + 1250);
    assert_int_equal(tg_cost_claim(&cost), TG_COST_RANGE);
}

static void what_stops_far_apart_hide_is_not_nothing_where_it_was_not_measured(void **state)
{
    (void)state;
    struct tg_cost_basis basis = with_spread;
    struct tg_cost cost = {0};
    char text[500];
    basis.floor.sparse_stop = basis.floor.sparse_hidden = (struct tg_quartiles){0};
    tg_cost_add_stop(&basis, 7000, &far_apart, &cost);
    assert_int_equal(cost.low_ns, 9900);
    assert_int_equal(cost.ns, 10000);
    assert_int_equal(cost.high_ns, 13400);
    tg_cost_describe(&basis, text, sizeof text);
    assert_non_null(strstr(text, "or where stops are far apart 3.0 us (2.9 to 6.4) that"));
    basis.floor.sparse_stop = with_spread.floor.sparse_stop; /* measured, and nothing is hidden */
    assert_int_equal(tg_cost_hidden_ns(&basis, true).high, 0);
}

static void handling_that_nobody_did_is_not_free(void **state)
{
    (void)state;
    struct tg_cost cost = {0}, none = {0};
    struct tg_cost_basis basis = with_spread;
    tg_cost_add_ns(1000, &cost);
    tg_cost_add_handling(&basis, &(struct tg_cost_libraries){.count = 5}, &cost);
    assert_int_equal(tg_cost_claim(&cost), TG_COST_UNKNOWN);
    basis.no_search = true; /* but it is where no breakpoint is wanted */
    tg_cost_add_ns(1000, &none);
    tg_cost_add_handling(&basis, &(struct tg_cost_libraries){.count = 5}, &none);
    assert_int_equal(tg_cost_claim(&none), TG_COST_FIGURE);
}

static void a_busy_machine_leaves_what_was_measured_as_the_lower_bound(void **state)
{
    (void)state;
    struct tg_cost_basis basis = {
        .floor_source = TG_COST_FLOOR_RECORDED,
        .floor = {.stop_ns = 5000, .stop = {4900, 5000, 5100}, .hidden = {900, 1000, 1100}},
        .measured_stops = 1,
        .stop_ns = 100000};
    struct tg_cost quiet = {0}, busy = {0};
    tg_cost_add_stop(&basis, 50000, &close_by, &quiet);
    busy = quiet;
    basis.waited_ns = 4000; /* the tracer shares its processor with the job */
    tg_cost_add_waiting(&basis, 0, &quiet);
    assert_int_equal(quiet.low_ns, 50900);
    assert_int_equal(quiet.high_ns, 51100 + 4080);
    assert_int_equal(tg_cost_claim(&quiet), TG_COST_FIGURE);
    basis.waited_ns = 40000;
    struct tg_cost looking = busy;
    tg_cost_add_waiting(&basis, 0, &busy);
    assert_int_equal(busy.low_ns, 50000);
    assert_int_equal(busy.high_ns, 51100 + 40800);
    assert_int_equal(tg_cost_claim(&busy), TG_COST_RANGE);
    tg_cost_add_waiting(&basis, 36000, &looking); /* while it looked for the next stop */
    assert_int_equal(looking.high_ns, quiet.high_ns);
    assert_int_equal(tg_cost_claim(&looking), TG_COST_FIGURE);
}

/* On a processor shared with the job, the tracer waits while the job runs: a stop hides no more than all of that. */
static void what_an_agent_takes_is_measured_but_for_its_waiting(void **state)
{
    (void)state;
    struct tg_cost cost = {0};
    tg_cost_add_agent(1500, 1, &cost);
    assert_int_equal(cost.low_ns, 1500);
    assert_int_equal(cost.ns, 2250);
    assert_int_equal(cost.high_ns, 3000);
    tg_cost_add_agent(12000000, 2, &cost); /* another program had the processor */
    assert_in_range(cost.ns, 2250, 100000);
    assert_in_range(cost.high_ns, 12000000, 12100000);
    assert_int_equal(tg_cost_claim(&cost), TG_COST_RANGE);
}

static void no_stop_hides_more_than_what_lies_before_it(void **state)
{
    (void)state;
    struct tg_cost_basis basis = with_spread;
    const struct tg_pace near = {.gap_ns = 8000}, nearer = {.gap_ns = 1000};
    struct tg_cost cost = {0}, other = {0}, sum = {0};
    basis.stop_ns = 14000;
    basis.waited_ns = 90000;
    tg_cost_add_stop(&basis, 7000, &near, &cost);
    tg_cost_add_stop(&basis, 7000, &near, &cost);
    sum = cost;
    tg_cost_add_waiting(&basis, 0, &cost);
    assert_int_equal(cost.low_ns, 14000);
    assert_int_equal(cost.ns, 20000);
    assert_int_equal(cost.high_ns, 30000);
    tg_cost_add_stop(&basis, 7000, &nearer, &other);
    tg_cost_add(&other, &sum);
    assert_int_equal(sum.ceiling_ns, 38000);
    tg_cost_add_waiting(&basis, 0, &other);
    assert_int_equal(other.ns, 8000);
    assert_int_equal(other.high_ns, 8000);
}

/* The tracer's work is the least that stops cost which never were: 7 of 10 us here. */
static void a_busy_machine_leaves_the_tracers_own_work(void **state)
{
    (void)state;
    struct tg_cost_basis basis = with_spread;
    struct tg_cost cost = {0};
    basis.floor.read = (struct tg_quartiles){2000, 2500, 3500};
    basis.stop_ns = 1000;
    basis.waited_ns = 90000;
    tg_cost_add_stop(&basis, 0, &close_by, &cost);
    tg_cost_add_waiting(&basis, 0, &cost);
    assert_int_equal(cost.low_ns, 7000);
    assert_int_equal(cost.high_ns, 12000 + 1250 + 180000);
}

static void a_pace_is_sparse_until_stops_come_soon(void **state)
{
    (void)state;
    static const struct {
        uint64_t time_us;
        bool sparse;
    } stops[] = {{1000, true}, {1100, true},  {1200, true}, {1230, false}, {1250, false}, {1500, true},
                 {2500, true}, {2530, false}, {9000, true}, {19000, true}, {19100, true}};
    struct tg_pace pace = {0};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct tg_event event = {
            .kind = TG_EVENT_LIBRARY_NULL, .time_ns = stops[i].time_us * 1000, .stop_ns = 10000};
        tg_pace_add(&pace, &event);
        tg_pace_add(&pace, &(struct tg_event){.time_ns = event.time_ns}); /* no stop of its own */
        assert_int_equal(pace.sparse, stops[i].sparse);
    }
}

/* Two ranks whose stops a tracer serves in turn. */
static void what_lies_before_a_stop_is_its_own_threads(void **state)
{
    (void)state;
    struct tg_pace pace = {0};
    static const struct {
        int32_t tid;
        uint64_t time_us, gap_us; /* 0 not known */
    } stops[] = {{7, 100, 0},  {8, 120, 0}, {7, 140, 30}, {8, 150, 20}, {7 + TG_PACE_THREADS, 200, 0},
                 {8, 210, 50}, {7, 300, 0}}; /* the place of 7 was taken */
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        tg_pace_add(&pace, &(struct tg_event){.kind = TG_EVENT_LIBRARY_NULL,
                                              .tid = stops[i].tid,
                                              .time_ns = stops[i].time_us * 1000,
                                              .stop_ns = 10000});
        assert_int_equal(pace.gap_ns, stops[i].gap_us > 0 ? stops[i].gap_us * 1000 : UINT64_MAX);
    }
}

/* The same times as above, of events that an agent saw. */
static void what_an_agent_saw_has_the_pace_of_stops(void **state)
{
    (void)state;
    struct tg_pace pace = {0};
    static const struct {
        uint64_t time_us;
        bool sparse;
    } loads[] = {{1000, true}, {1100, true}, {1200, true}, {1240, false}, {2500, true}, {2530, true}};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        const struct tg_event event = {.kind = TG_EVENT_LIBRARY_LOAD,
                                       .time_ns = loads[i].time_us * 1000,
                                       .library_load = {.found = TG_FOUND_AGENT}};
        const struct tg_event other = {.kind = TG_EVENT_MPI_ENTER, .time_ns = event.time_ns + 5000};
        tg_pace_add(&pace, &event);
        tg_pace_add(&pace, &other);
        assert_int_equal(pace.sparse, loads[i].sparse);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_measured_stop_costs_what_the_tracer_saw_and_what_it_cannot_see),
        cmocka_unit_test(an_unmeasured_stop_costs_the_floor_or_is_unknown),
        cmocka_unit_test(unmeasured_handling_costs_the_mean),
        cmocka_unit_test(what_a_program_begins_with_says_no_more_than_a_range),
        cmocka_unit_test(many_that_dlopen_loaded_stand_for_others),
        cmocka_unit_test(a_floor_that_makes_no_sense_hides_nothing),
        cmocka_unit_test(sums_saturate_and_never_go_below_zero),
        cmocka_unit_test(the_description_says_where_figures_come_from),
        cmocka_unit_test(only_what_is_within_a_tenth_is_claimed),
        cmocka_unit_test(a_price_with_reading_stands_for_stops_that_never_were),
        cmocka_unit_test(libraries_found_together_have_a_price_of_their_own),
        cmocka_unit_test(a_price_without_stops_far_apart_has_a_wider_range),
        cmocka_unit_test(what_stops_far_apart_hide_is_not_nothing_where_it_was_not_measured),
        cmocka_unit_test(what_lies_before_a_stop_is_its_own_threads),
        cmocka_unit_test(what_an_agent_saw_has_the_pace_of_stops),
        cmocka_unit_test(handling_that_nobody_did_is_not_free),
        cmocka_unit_test(a_busy_machine_leaves_what_was_measured_as_the_lower_bound),
        cmocka_unit_test(what_an_agent_takes_is_measured_but_for_its_waiting),
        cmocka_unit_test(no_stop_hides_more_than_what_lies_before_it),
        cmocka_unit_test(a_busy_machine_leaves_the_tracers_own_work),
        cmocka_unit_test(a_pace_is_sparse_until_stops_come_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
