#include "recorder/rings/spare_memory.h"

#include <sys/sysinfo.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

static void there_is_some_and_not_more_than_the_machine_has(void **state)
{
    (void)state;
    struct sysinfo machine;
    assert_int_equal(sysinfo(&machine), 0);
    assert_in_range(tg_spare_memory(), 1 << 20, (uint64_t)machine.totalram * machine.mem_unit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(there_is_some_and_not_more_than_the_machine_has)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
