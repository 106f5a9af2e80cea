#include "tests/support/trace_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keys_keep_their_order_and_their_last_value(void **state)
{
    (void)state;
    struct tg_trace_meta *meta = NULL;
    char key[32];
    assert_fine(tg_trace_meta_create(&meta));
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < 1000; i++) {
            snprintf(key, sizeof key, "command.%u", i);
            assert_fine(tg_trace_meta_set_number(meta, key, i + (unsigned)round));
        }
    assert_int_equal(tg_trace_meta_count(meta), 1000);
    assert_string_equal(tg_trace_meta_key_at(meta, 999), "command.999");
    assert_string_equal(tg_trace_meta_value_at(meta, 999), "1000");
    assert_string_equal(tg_trace_meta_get(meta, "command.7"), "8");
    assert_null(tg_trace_meta_get(meta, "command.1000"));
    tg_trace_meta_destroy(meta);
}

static void numbers_are_decimal_or_not_there(void **state)
{
    (void)state;
    struct tg_trace_meta *meta = NULL;
    assert_fine(tg_trace_meta_create(&meta));
    static const char *const others[] = {"", "-1", "12x", "0x10", " 1", "18446744073709551616"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_fine(tg_trace_meta_set(meta, "n", others[i]));
        assert_int_equal(tg_trace_meta_get_number(meta, "n", 42), 42);
    }
    assert_fine(tg_trace_meta_set(meta, "n", "18446744073709551615"));
    assert_true(tg_trace_meta_get_number(meta, "n", 42) == UINT64_MAX);
    assert_int_equal(tg_trace_meta_get_number(meta, "m", 42), 42);
    tg_trace_meta_destroy(meta);
}

static void the_limits_hold(void **state)
{
    (void)state;
    struct tg_trace_meta *meta = NULL;
    assert_fine(tg_trace_meta_create(&meta));
    char *value = calloc(TG_TRACE_META_MAX_VALUE + 2, 1), key[300];
    memset(value, 'v', TG_TRACE_META_MAX_VALUE);
    memset(key, 'k', sizeof key);
    key[TG_TRACE_META_MAX_KEY] = '\0';
    assert_fine(tg_trace_meta_set(meta, key, "1"));
    key[TG_TRACE_META_MAX_KEY] = 'k';
    key[TG_TRACE_META_MAX_KEY + 1] = '\0';
    expect_error(tg_trace_meta_set(meta, key, "1"), TG_ERROR_LIMIT, "kkk");
    expect_error(tg_trace_meta_set(meta, "", "1"), TG_ERROR_LIMIT, "key");
    for (int i = 0; i < 100; i++) /* replacing does not add up */
        assert_fine(tg_trace_meta_set(meta, "a", value));
    value[TG_TRACE_META_MAX_VALUE] = 'v';
    expect_error(tg_trace_meta_set(meta, "b", value), TG_ERROR_LIMIT, "\"b\"");
    value[TG_TRACE_META_MAX_VALUE] = '\0';
    struct tg_error *error = NULL;
    for (int i = 0; error == NULL && i < 100; i++) {
        snprintf(key, sizeof key, "big.%d", i);
        error = tg_trace_meta_set(meta, key, value);
    }
    expect_error(error, TG_ERROR_LIMIT, "big.");
    free(value);
    tg_trace_meta_destroy(meta);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_keep_their_order_and_their_last_value),
        cmocka_unit_test(numbers_are_decimal_or_not_there),
        cmocka_unit_test(the_limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
