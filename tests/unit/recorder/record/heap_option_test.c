#include "recorder/record/heap_option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct tg_agent_heap parsed(const char *how, const char *depth)
{
    struct tg_agent_heap heap;
    assert_null(tg_heap_option_parse(how, depth, &heap));
    return heap;
}

static void refused(const char *how, const char *depth, const char *words)
{
    struct tg_agent_heap heap;
    struct tg_error *error = tg_heap_option_parse(how, depth, &heap);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
    assert_non_null(strstr(tg_error_message(error), words));
    tg_error_destroy(error);
}

static void test_modes(void **state)
{
    (void)state;
    assert_int_equal(parsed(NULL, NULL).mode, TG_AGENT_HEAP_OFF);
    assert_int_equal(parsed("", NULL).mode, TG_AGENT_HEAP_EVENTS);
    assert_int_equal(parsed("events", "0").depth, 0);
    assert_int_equal(parsed("check", NULL).depth, TG_HEAP_OPTION_DEPTH);
    assert_int_equal(parsed("check", "128").depth, TG_AGENT_HEAP_MAX_DEPTH);
    assert_int_equal(parsed("check", NULL).red_zones, TG_AGENT_RED_ZONES_OFF);
    refused("checks", NULL, "'checks'");
    refused("event", NULL, "'event'");
    refused("check", "129", "--heap-depth");
    refused("check", "1x", "--heap-depth");
    refused(NULL, "3", "--heap-depth needs --heap");
}

static void test_samples(void **state)
{
    (void)state;
    assert_int_equal(parsed("sample:512K", NULL).sample_bytes, 512 << 10);
    assert_int_equal(parsed("sample:512KiB", NULL).sample_bytes, 512 << 10);
    assert_int_equal(parsed("sample:2m", NULL).sample_bytes, 2 << 20);
    assert_int_equal(parsed("sample:1", NULL).sample_bytes, 1);
    const char *const wrong[] = {"sample:",   "sample:0",   "sample:-1",
                                 "sample:1G", "sample:1iB", "sample:99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i], NULL, "invalid number of bytes");
}

static void test_red_zones(void **state)
{
    (void)state;
    struct tg_agent_heap heap = parsed("check,red_zones", NULL);
    assert_int_equal(heap.mode, TG_AGENT_HEAP_CHECK);
    assert_int_equal(heap.red_zones, TG_AGENT_RED_ZONES_BEHIND);
    assert_true(heap.red_zone_min == 0 && heap.red_zone_max == UINT64_MAX);
    heap = parsed("check,red_zones=before,red_zones_for=16-4096", NULL);
    assert_int_equal(heap.red_zones, TG_AGENT_RED_ZONES_BEFORE);
    assert_true(heap.red_zone_min == 16 && heap.red_zone_max == 4096);
    assert_int_equal(parsed("check,red_zones_for=1-1", NULL).red_zones, TG_AGENT_RED_ZONES_BEHIND);
    const char *const wrong[] = {"check,",
                                 "check,red_zones,",
                                 "check,red_zones=above",
                                 "check,red_zones_for=5",
                                 "check,red_zones_for=5-4",
                                 "check,red_zones_for=5-9x",
                                 "check,red_zones_for=-",
                                 "check,a_word_that_is_much_longer_than_all_that_there_are_in_this_place"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i], NULL, "--heap: invalid word");
    refused("events,red_zones", NULL, "--heap: invalid value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_modes), cmocka_unit_test(test_samples),
                                       cmocka_unit_test(test_red_zones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
