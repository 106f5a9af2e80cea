#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/record/stop_price.h"

static void load(struct tg_stop_price *price, enum tg_library_found found, unsigned count)
{
    const struct tg_event event = {.kind = TG_EVENT_LIBRARY_LOAD, .library_load = {.found = found}};
    for (unsigned i = 0; i < count; i++)
        tg_stop_price_note(price, &event);
}

static void a_job_of_few_libraries_ends_without_it(void **state)
{
    (void)state;
    struct tg_stop_price price = {.wanted = true}, unwanted = {0};
    struct tg_event event;
    load(&price, TG_FOUND_AGENT, TG_STOP_PRICE_LOADS - 1);
    load(&price, TG_FOUND_STARTUP, 100); /* at the start of programs, which every mode sees */
    assert_false(tg_stop_price_measure(&price, UINT64_MAX, &event));
    load(&unwanted, TG_FOUND_AGENT, 1000);
    assert_false(tg_stop_price_measure(&unwanted, UINT64_MAX, &event));
}

static void a_job_of_many_has_what_stops_and_reading_take(void **state)
{
    (void)state;
    struct tg_stop_price price = {.wanted = true};
    struct tg_event event = {0};
    load(&price, TG_FOUND_AGENT, TG_STOP_PRICE_LOADS);
    assert_true(tg_stop_price_measure(&price, UINT64_MAX, &event));
    assert_int_equal(event.kind, TG_EVENT_STOP_PRICE);
    assert_true(event.time_ns > 0 && event.pid == 0 && event.tid == 0);
    assert_in_range(event.stop_price.samples, 16, 60);
    assert_in_range(event.stop_price.stop_median_ns, 100, 100000000);
    assert_true(event.stop_price.stop_low_ns <= event.stop_price.stop_median_ns);
    assert_true(event.stop_price.hidden_median_ns <= event.stop_price.stop_median_ns);
    assert_true(event.stop_price.read_high_ns > 0);
    assert_true(event.stop_price.sparse_stop_high_ns > 0);
}

static void a_time_that_is_too_short_leaves_none(void **state)
{
    (void)state;
    struct tg_stop_price price = {.wanted = true, .loads = TG_STOP_PRICE_LOADS};
    struct tg_event event;
    assert_false(tg_stop_price_measure(&price, 1, &event));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_of_few_libraries_ends_without_it),
        cmocka_unit_test(a_job_of_many_has_what_stops_and_reading_take),
        cmocka_unit_test(a_time_that_is_too_short_leaves_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
