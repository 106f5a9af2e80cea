#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/search.h"

struct range {
    uint64_t start;
};

static void bounds_are_those_of_a_walk(void **state)
{
    (void)state;
    struct range ranges[12];
    for (size_t i = 0; i < 12; i++)
        ranges[i].start = 10 + i / 3 * 10; /* 10 10 10 20 ... 40 */
    for (size_t count = 0; count <= 12; count++)
        for (uint64_t key = 0; key < 50; key++) {
            size_t lower = 0, upper = 0;
            while (lower < count && ranges[lower].start < key)
                lower++;
            while (upper < count && ranges[upper].start <= key)
                upper++;
            assert_int_equal(TG_LOWER_BOUND(ranges, count, start, key), lower);
            assert_int_equal(TG_UPPER_BOUND(ranges, count, start, key), upper);
        }
}

static void a_partition_point_takes_any_order(void **state)
{
    (void)state;
    const char *names[] = {"alpha", "beta", "delta", "gamma"};
    assert_int_equal(TG_PARTITION_POINT(4, i, strcmp(names[i], "a") < 0), 0);
    assert_int_equal(TG_PARTITION_POINT(4, i, strcmp(names[i], "delta") < 0), 2);
    assert_int_equal(TG_PARTITION_POINT(4, i, strcmp(names[i], "zeta") < 0), 4);
    assert_int_equal(TG_PARTITION_POINT((size_t)1 << 30, i, i * i < 1000000), 1000);
    assert_int_equal(TG_PARTITION_POINT(0, i, strcmp(names[i], "delta") < 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_those_of_a_walk),
        cmocka_unit_test(a_partition_point_takes_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
