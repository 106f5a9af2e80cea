/* Who waits for a child, and which children there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/process/child_wait.h"

enum { N = 3 };

struct seen {
    pid_t children[N];
    unsigned n, max;
};

static bool take(void *context, pid_t child)
{
    struct seen *seen = context;
    if (seen->n < N)
        seen->children[seen->n] = child;
    return ++seen->n < seen->max;
}

static bool has(const struct seen *seen, pid_t child)
{
    for (unsigned i = 0; i < seen->n && i < N; i++)
        if (seen->children[i] == child)
            return true;
    return false;
}

static pid_t start_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

static void *fork_one(void *argument)
{
    *(pid_t *)argument = start_child();
    return NULL;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_children(void **state)
{
    struct seen seen = {.max = 10}, first = {.max = 1}, none = {.max = 10};
    pid_t one = start_child(), two;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, fork_one, &two), 0); /* of any thread */
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (!tg_child_wait_each_child(getpid(), take, &seen)) {
        end_child(one);
        end_child(two);
        skip(); /* a kernel that has no such lists */
    }
    assert_int_equal(seen.n, 2);
    assert_true(has(&seen, one) && has(&seen, two));
    assert_false(tg_child_wait_each_child(getpid(), take, &first));
    assert_int_equal(first.n, 1);
    assert_true(tg_child_wait_each_child(one, take, &none));
    assert_int_equal(none.n, 0);
    end_child(one);
    end_child(two);
    assert_false(tg_child_wait_each_child(two, take, &none)); /* no process has that number any more */
}

static void test_wait(void **state)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    pid_t ends = 0, child = -1;
    pid_t waits = fork();
    (void)state;
    if (waits == 0) {
        ends = start_child();
        (void)waitpid(ends, NULL, 0);
        _exit(0);
    }
    bool is_found = false;
    for (unsigned i = 0; !is_found && i < 10000; i++) {
        is_found = tg_child_wait_find(waits, &child);
        nanosleep(&moment, NULL);
    }
    assert_true(is_found && child > 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(waits, NULL, 0), waits);
    assert_false(tg_child_wait_find(getpid(), &child));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_children), cmocka_unit_test(test_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
