#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/dump/dump.h"

static void a_small_trace_is_not_much_output(void **state)
{
    (void)state;
    const uint64_t mib = UINT64_C(1) << 20, gib = mib << 10;
    assert_true(tg_dump_may_write(64 * mib, 635));
    assert_false(tg_dump_may_write(64 * mib + 640 * 16384, 635));
    assert_false(tg_dump_may_write(gib, 13320));
    assert_true(tg_dump_may_write(100 * gib, 100000000));
    assert_false(tg_dump_may_write(UINT64_MAX, 100000000));
    assert_true(tg_dump_may_write(2 * gib, 0)); /* a pipe that does not say how much it has had */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_trace_is_not_much_output)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
