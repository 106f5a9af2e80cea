#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/output/quantity.h"
#include "format/base/signal_name.h"

static void counts_have_separators(void **state)
{
    (void)state;
    char text[TG_QUANTITY_SIZE];
    assert_string_equal(tg_quantity_count(0, text), "0");
    assert_string_equal(tg_quantity_count(999, text), "999");
    assert_string_equal(tg_quantity_count(1000, text), "1,000");
    assert_string_equal(tg_quantity_count(123456, text), "123,456");
    assert_string_equal(tg_quantity_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void durations_have_units(void **state)
{
    (void)state;
    char text[TG_QUANTITY_SIZE];
    assert_string_equal(tg_quantity_duration(0, text), "0");
    assert_string_equal(tg_quantity_duration(999, text), "999 ns");
    assert_string_equal(tg_quantity_duration(1000, text), "1.000 us");
    assert_string_equal(tg_quantity_duration(12345, text), "12.34 us");
    assert_string_equal(tg_quantity_duration(123456789, text), "123.4 ms");
    assert_string_equal(tg_quantity_duration(59999999999, text), "59.99 s");
    assert_string_equal(tg_quantity_duration(UINT64_MAX, text), "18446744073.7 s");
}

static void moments_are_relative(void **state)
{
    (void)state;
    char text[TG_QUANTITY_SIZE];
    assert_string_equal(tg_quantity_moment(1500000000, 0, 6, text), "1.500000");
    assert_string_equal(tg_quantity_moment(5, 1005, 9, text), "-0.000001000");
    assert_string_equal(tg_quantity_moment(2999999999, 0, 0, text), "2");
    assert_string_equal(tg_quantity_moment(UINT64_MAX, 0, 9, text), "18446744073.709551615");
}

static void signals_have_names(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(tg_signal_name(11, text, sizeof text), "SIGSEGV");
    assert_string_equal(tg_signal_name(34, text, sizeof text), "SIGRTMIN");
    assert_string_equal(tg_signal_name(37, text, sizeof text), "SIGRTMIN+3");
    assert_string_equal(tg_signal_name(0, text, sizeof text), "signal 0");
    assert_string_equal(tg_signal_name(32, text, sizeof text), "signal 32");
    assert_string_equal(tg_signal_name(INT64_MIN, text, sizeof text), "signal -9223372036854775808");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_separators),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(moments_are_relative),
        cmocka_unit_test(signals_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
