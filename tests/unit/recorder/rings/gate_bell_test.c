#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/rings/gate_bell.h"

#include <sched.h>

static void count(void *context)
{
    __atomic_fetch_add((unsigned *)context, 1, __ATOMIC_RELEASE);
}

/* The arrival of each worker at a gate is passed on at once, and nothing else is. */
static void tells_of_each_call(void **state)
{
    (void)state;
    const struct tg_agent_directory_options options = {.flags = TG_AGENT_OPENMP, .trace = "none"};
    struct tg_agent_directory *directory;
    struct tg_gate_bell *bell;
    unsigned n_calls = 0;
    assert_null(tg_agent_directory_create(&options, &directory));
    assert_null(tg_gate_bell_create(directory, count, &n_calls, &bell));
    for (unsigned i = 1; i <= 3; i++) {
        tg_agent_directory_call_gates(directory);
        while (__atomic_load_n(&n_calls, __ATOMIC_ACQUIRE) < i)
            sched_yield();
    }
    tg_agent_directory_call(directory); /* for attention to rings */
    tg_gate_bell_destroy(bell);
    assert_int_equal(n_calls, 3);
    tg_agent_directory_destroy(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells_of_each_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
