#include "recorder/rings/idle_time.h"

#include <stdint.h>
#include <time.h>
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
/* clang-format on */

static void count_call(void *context)
{
    __atomic_fetch_add((int *)context, 1, __ATOMIC_RELEASE);
}

static void await_calls(int *n_calls, int n)
{
    while (__atomic_load_n(n_calls, __ATOMIC_ACQUIRE) < n)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void who_asks_gets_one_turn(void **state)
{
    (void)state;
    struct tg_idle_time *idle = NULL;
    int n_calls = 0;
    assert_null(tg_idle_time_create(count_call, &n_calls, &idle));
    for (int i = 1; i <= 3; i++) {
        assert_false(tg_idle_time_take(idle));
        await_calls(&n_calls, i);
        assert_true(tg_idle_time_take(idle));
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(n_calls, 3); /* nobody asked */
    tg_idle_time_destroy(idle);
}

static void nothing_is_called_when_it_is_over(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct tg_idle_time *idle = NULL;
        int n_calls = 0;
        assert_null(tg_idle_time_create(count_call, &n_calls, &idle));
        assert_false(tg_idle_time_take(idle));
        tg_idle_time_destroy(idle);
        int seen = n_calls;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        assert_int_equal(n_calls, seen);
    }
    tg_idle_time_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_gets_one_turn),
        cmocka_unit_test(nothing_is_called_when_it_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
