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
    assert_in_range(event.stop_price.samples, 12, 60);
    assert_in_range(event.stop_price.stop_median_ns, 100, 100000000);
    assert_true(event.stop_price.stop_low_ns <= event.stop_price.stop_median_ns);
    assert_true(event.stop_price.hidden_median_ns <= event.stop_price.stop_median_ns);
    assert_true(event.stop_price.read_high_ns > 0);
}

/* COUNT loads of thread TID, GAP_US apart. */
static void load_apart(struct tg_stop_price *price, int32_t tid, unsigned count, uint64_t gap_us)
{
    for (unsigned i = 0; i < count; i++)
        tg_stop_price_note(price, &(struct tg_event){.kind = TG_EVENT_LIBRARY_LOAD,
                                                     .tid = tid,
                                                     .time_ns = 1000 * gap_us * i,
                                                     .library_load = {.found = TG_FOUND_AGENT}});
}

static void what_lies_between_a_threads_loads_is_imitated(void **state)
{
    (void)state;
    struct tg_stop_price storm = {.wanted = true}, imports = {.wanted = true}, ranks = {.wanted = true};
    load_apart(&storm, 7, 40, 65);
    load_apart(&storm, 8, 10, 5000);
    assert_false(tg_stop_price_pace(&storm).is_sparse);
    assert_in_range(tg_stop_price_pace(&storm).work_ns, 61000, 69000);
    load_apart(&imports, 7, 40, 900);
    load_apart(&imports, 7, 10, 50);
    assert_true(tg_stop_price_pace(&imports).is_sparse);
    assert_in_range(tg_stop_price_pace(&imports).work_ns, 60000, 200000);
    for (uint64_t i = 0; i < 40; i++) { /* two in turn, 10 us apart */
        const struct tg_event event = {.kind = TG_EVENT_LIBRARY_LOAD,
                                       .tid = i % 2 == 0 ? 100 : 101,
                                       .time_ns = 10000 * i,
                                       .library_load = {.found = TG_FOUND_AGENT}};
        tg_stop_price_note(&ranks, &event);
    }
    assert_in_range(tg_stop_price_pace(&ranks).work_ns, 16000, 24000);
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
        cmocka_unit_test(what_lies_between_a_threads_loads_is_imitated),
        cmocka_unit_test(a_time_that_is_too_short_leaves_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
