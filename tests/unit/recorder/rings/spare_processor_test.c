#include "recorder/rings/spare_processor.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

static void who_asks_is_one_of_those_that_run(void **state)
{
    (void)state;
    assert_true(tg_spare_processor_by("0.10 0.20 0.30 1/345 4711\n", 1));
    assert_false(tg_spare_processor_by("0.10 0.20 0.30 2/345 4711\n", 1));
    assert_true(tg_spare_processor_by("0.10 0.20 0.30 2/345 4711\n", 2));
    assert_false(tg_spare_processor_by("12.00 0.20 0.30 3/345 4711\n", 2));
    assert_true(tg_spare_processor_by("12.00 0.20 0.30 128/9999 4711\n", 128));
}

static void what_cannot_be_read_says_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n", "0.1 0.2 0.3", "0.1 0.2 0.3 x/3 1", "0.1 0.2 0.3 0/3 1", "0.1 0.2 0.3 -5/3 1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(tg_spare_processor_by(texts[i], 1024));
}

static void a_processor_that_is_shared_is_not_spare(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        for (volatile bool busy = true; busy;)
            continue;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_false(tg_spare_processor());
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_is_one_of_those_that_run),
        cmocka_unit_test(what_cannot_be_read_says_nothing),
        cmocka_unit_test(a_processor_that_is_shared_is_not_spare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
