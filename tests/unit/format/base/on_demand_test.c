#include "format/base/on_demand.h"
#include "on_demand_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_open(void)
{
    void *library = dlopen(TG_TEST_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL)
        dlclose(library);
    return library != NULL;
}

/* First in the list: no function of the library has been called. */
static void opens_at_first_call(void **state)
{
    (void)state;
    assert_false(is_open());
    errno = ENOTTY;
    assert_int_equal(tg_test_errno(), ENOTTY);
    assert_int_equal(errno, ENOTTY);
    assert_true(is_open());
}

/* The first call goes by way of the search, the second one does not. */
static void passes_all_arguments(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        double sum = tg_test_many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
        assert_true(sum == 1 + 2 * 2 + 3 * 3 + 4 * 5 + 5 * 7 + 6 * 11 + 7 * 13 + 8 * 17 + 9 * 19 + 10 * 23 +
                               11 * 29 + 12 * 31 + 13 * 37 + 14 * 41 + 15 * 43 + 16 * 47 + 17 * 53);
        char text[128];
        int n =
            tg_test_print(text, sizeof text, "%d %d %d %d %s %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f", 1,
                          2, 3, 4, "five", 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5);
        assert_string_equal(text, "1 2 3 4 five 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 9.5");
        assert_int_equal(n, strlen(text));
        struct tg_test_large large = tg_test_return(INT64_MIN, INT64_MAX);
        assert_int_equal(large.values[0], INT64_MIN);
        assert_int_equal(large.values[3], INT64_MAX);
    }
}

static void *call_often(void *state)
{
    for (int i = 0; i < 1000; i++)
        if (tg_test_return(i, i).values[1] != i + 1)
            return "wrong";
    return state;
}

static void is_called_by_many_threads(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

/* Calls FUNCTION in a process of its own, which has to end with 127; what it says goes into TEXT. */
static void fails(void (*function)(void), char *text, size_t size)
{
    int line[2], status = 0;
    assert_int_equal(pipe(line), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(line[1], STDERR_FILENO);
        function();
        _exit(0);
    }
    close(line[1]);
    ssize_t n = read(line[0], text, size - 1);
    assert_true(n > 0);
    text[n] = '\0';
    close(line[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 127);
}

static void says_what_is_missing(void **state)
{
    (void)state;
    char text[512];
    fails(tg_test_elsewhere, text, sizeof text);
    assert_non_null(strstr(text, "tollgate: what this needs is missing: libtollgate_none.so.7: cannot open"));
    fails(tg_test_absent, text, sizeof text);
    assert_non_null(strstr(text, "undefined symbol: tg_test_absent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_at_first_call),
        cmocka_unit_test(passes_all_arguments),
        cmocka_unit_test(is_called_by_many_threads),
        cmocka_unit_test(says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
