/* Numbers of 128 bits as those of x87, and back: rounded, small, large, and none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "live/inspect/value/binary128.h"

static long double decoded(uint64_t high, uint64_t low)
{
    uint8_t bytes[TG_BINARY128_SIZE];
    memcpy(bytes, &low, 8);
    memcpy(bytes + 8, &high, 8);
    return tg_binary128_decode(bytes);
}

static void check(uint64_t high, uint64_t low, long double expected)
{
    long double number = decoded(high, low);
    assert_true(number == expected && signbit(number) == signbit(expected));
}

/* And back without a loss. */
static void check_both(uint64_t high, uint64_t low, long double number)
{
    uint8_t bytes[TG_BINARY128_SIZE];
    uint64_t words[2];
    check(high, low, number);
    tg_binary128_encode(number, bytes);
    memcpy(words, bytes, sizeof words);
    assert_int_equal(words[0], low);
    assert_int_equal(words[1], high);
}

static void test_numbers(void **state)
{
    (void)state;
    check_both(UINT64_C(0x3fff000000000000), 0, 1);
    check_both(UINT64_C(0xc000600000000000), 0, -2.75L);
    check_both(UINT64_C(0), 0, 0.0L);
    check_both(UINT64_C(0x8000000000000000), 0, -0.0L);
    check_both(UINT64_C(0x3fff000000000000), UINT64_C(1) << 49, 1 + 0x1p-63L); /* of the low word */
    check_both(UINT64_C(0x3fffffffffffffff), UINT64_C(0xfffe) << 48, 2 - 0x1p-63L);
    check_both(UINT64_C(0x7ffeffffffffffff), UINT64_C(0xfffe) << 48, 0x1.fffffffffffffffep16383L);
}

static void test_rounding(void **state)
{
    const uint64_t one = UINT64_C(0x3fff000000000000), unit = UINT64_C(1) << 49;
    (void)state;
    check(one, unit / 2 - 1, 1);
    check(one, unit / 2, 1); /* to the even one */
    check(one, unit / 2 + 1, 1 + 0x1p-63L);
    check(one, unit + unit / 2, 1 + 0x1p-62L);
    check(UINT64_C(0x3fffffffffffffff), UINT64_MAX, 2); /* carried into the exponent */
    check(UINT64_C(0xbfffffffffffffff), UINT64_MAX, -2);
    check(UINT64_C(0x7ffeffffffffffff), UINT64_MAX, (long double)INFINITY);
}

static void test_denormals(void **state)
{
    (void)state;
    check_both(0, UINT64_C(1) << 49, 0x1p-16445L);
    check_both(UINT64_C(0x8000800000000000), 0, -0x1p-16383L);
    check(0, 1, 0);
    check(UINT64_C(0x0000ffffffffffff), UINT64_MAX, 0x1p-16382L); /* carried into the normal ones */
    check_both(UINT64_C(0x0001000000000000), 0, 0x1p-16382L);
}

static void test_no_numbers(void **state)
{
    (void)state;
    check_both(UINT64_C(0x7fff000000000000), 0, (long double)INFINITY);
    check_both(UINT64_C(0xffff000000000000), 0, (long double)-INFINITY);
    assert_true(isnan(decoded(UINT64_C(0x7fff800000000000), 0)));
    assert_true(isnan(decoded(UINT64_C(0x7fff000000000000), 1)));
    assert_true(isnan(decoded(UINT64_C(0xffff000000000000), UINT64_C(1) << 48)));
    assert_true(isnan(decoded(UINT64_C(0x7fff000000000001), 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_rounding),
                                       cmocka_unit_test(test_denormals), cmocka_unit_test(test_no_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
