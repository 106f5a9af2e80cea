#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/thread.h"

static void *read_mask(void *context)
{
    pthread_sigmask(SIG_SETMASK, NULL, context);
    return context;
}

static void threads_take_no_signals_and_the_mask_of_the_caller_stays(void **state)
{
    (void)state;
    sigset_t only, after, theirs;
    pthread_t thread;
    void *result;
    sigemptyset(&only);
    sigaddset(&only, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &only, NULL);
    assert_null(tg_thread_start(read_mask, &theirs, "a thread of the test", &thread));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &theirs);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        bool is_blockable = signal != SIGKILL && signal != SIGSTOP && (signal < 32 || signal >= SIGRTMIN);
        if (is_blockable)
            assert_int_equal(sigismember(&theirs, signal), 1);
        assert_int_equal(sigismember(&after, signal) == 1, signal == SIGUSR1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_take_no_signals_and_the_mask_of_the_caller_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
