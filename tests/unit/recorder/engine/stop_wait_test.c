#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/stop_wait.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start_sleeper(void)
{
    pid_t child = fork();
    if (child == 0) {
        for (;;)
            pause();
    }
    assert_true(child > 0);
    return child;
}

/* Several times: after some short waits it looks for a stop before it sleeps. */
static void check_over(struct tg_stop_wait *wait, pid_t child)
{
    for (int i = 0; i < 10; i++) {
        int status;
        errno = 0;
        assert_int_equal(tg_stop_wait(wait, child, 1, &status), -1);
        assert_int_equal(errno, EINTR);
    }
}

static void a_wait_that_is_wanted_elsewhere_does_not_begin_to_sleep(void **state)
{
    (void)state;
    atomic_bool wanted = true;
    struct tg_stop_wait of_many = {.processors = TG_PROCESSORS_MANY, .wanted = &wanted};
    struct tg_stop_wait of_one = {.processors = TG_PROCESSORS_ONE, .wanted = &wanted};
    pid_t child = start_sleeper();
    alarm(20); /* ends a wait that sleeps, and this test with it */
    check_over(&of_many, child);
    check_over(&of_one, child);
    wanted = false;
    kill(child, SIGKILL);
    int status = 0;
    assert_int_equal(tg_stop_wait(&of_many, child, 1, &status), child);
    assert_true(WIFSIGNALED(status));
    alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_that_is_wanted_elsewhere_does_not_begin_to_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
