#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "analyzer/output/selection.h"

static void times_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t time_ns;
    } good[] = {{"0", 0},
                {"1.5", 1500000000},
                {"1.5s", 1500000000},
                {".25", 250000000},
                {"2.", 2000000000},
                {"250ms", 250000000},
                {"0.5us", 500},
                {"7ns", 7},
                {"0.9ns", 0},
                {"1.0000000019", 1000000001},
                {"18446744073.709551615", UINT64_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t time_ns = 1;
        assert_null(tg_selection_parse_time(good[i].text, &time_ns));
        assert_int_equal(time_ns, good[i].time_ns);
    }
    static const char *const bad[] = {"",
                                      ".",
                                      "s",
                                      "-1",
                                      "1.2.3",
                                      "1 s",
                                      "1m",
                                      "1e3",
                                      "0x10",
                                      "99999999999999999999",
                                      "18446744073.709551616",
                                      "+1",
                                      "1sx"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t time_ns = 77;
        struct tg_error *error = tg_selection_parse_time(bad[i], &time_ns);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        assert_int_equal(time_ns, 77);
        tg_error_destroy(error);
    }
}

static void kinds_are_names_and_globs(void **state)
{
    (void)state;
    struct tg_selection selection = {0};
    assert_true(tg_selection_admits_kind(&selection, TG_EVENT_NOTE));
    assert_null(tg_selection_add_kinds(&selection, "library_*,signal"));
    assert_true(tg_selection_admits_kind(&selection, TG_EVENT_LIBRARY_NULL));
    assert_true(tg_selection_admits_kind(&selection, TG_EVENT_SIGNAL));
    assert_false(tg_selection_admits_kind(&selection, TG_EVENT_NOTE));
    static const char *const bad[] = {"signals", "", "signal,", "lib*x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tg_error *error = tg_selection_add_kinds(&selection, bad[i]);
        assert_non_null(error);
        assert_non_null(strstr(tg_error_message(error), "--kind: unknown kind"));
        tg_error_destroy(error);
    }
    tg_selection_deinit(&selection);
}

static void numbers_are_lists_and_ranges(void **state)
{
    (void)state;
    struct tg_selection selection = {0};
    struct tg_process_entry entry = {.pid = 50, .rank = -1, .claim = {.is_made = true, .number = 4}};
    assert_true(tg_selection_admits_process(&selection, &entry));
    assert_true(tg_selection_admits_process(&selection, NULL));
    assert_null(tg_selection_add_ranks(&selection, "0-3,7"));
    assert_false(tg_selection_admits_process(&selection, NULL));
    assert_false(tg_selection_admits_process(&selection, &entry));
    entry.claim.number = 3;
    assert_true(tg_selection_admits_process(&selection, &entry));
    entry.claim.is_made = false;
    assert_false(tg_selection_admits_process(&selection, &entry));
    assert_null(tg_selection_add_pids(&selection, "50"));
    assert_true(tg_selection_admits_process(&selection, &entry));
    static const char *const bad[] = {"", "a", "3-", "-3", "5-3", "1,,2", "1,", "3x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tg_error *error = tg_selection_add_pids(&selection, bad[i]);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        tg_error_destroy(error);
    }
    tg_selection_deinit(&selection);
}

static void the_window_is_relative_to_the_start(void **state)
{
    (void)state;
    struct tg_selection selection = {
        .has_from = true, .from_ns = 10, .has_to = true, .to_ns = UINT64_MAX - 5};
    tg_selection_start(&selection, 100);
    assert_false(tg_selection_admits_time(&selection, 109));
    assert_true(tg_selection_admits_time(&selection, 110));
    assert_true(tg_selection_admits_time(&selection, UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(kinds_are_names_and_globs),
        cmocka_unit_test(numbers_are_lists_and_ranges),
        cmocka_unit_test(the_window_is_relative_to_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
