/* The loader's own count of a library's handles. */
#include "recorder/agent/deep/open_count.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t count_of(void *handle)
{
    uint32_t count = UINT32_MAX;
    assert_true(tg_deep_open_count_get(handle, &count));
    return count;
}

static void *fail_to_open(const char *path, int flags)
{
    (void)path;
    (void)flags;
    return NULL;
}

static void *disturbing_library, *left_open;

/* Another trial comes and goes within the first call, and somebody opens the library within the second one. */
static void *open_disturbed(const char *path, int flags)
{
    static int n_calls;
    if (n_calls++ == 0)
        assert_true(tg_deep_open_count_learn(disturbing_library, dlopen, dlclose));
    if (n_calls == 2)
        left_open = dlopen(path, flags);
    return dlopen(path, flags);
}

static void counts_handles(void **state)
{
    (void)state;
    uint32_t count;
    void *library = dlopen("libutil.so.1", RTLD_LAZY); /* nobody needs it */
    if (library == NULL)
        skip();
    assert_false(tg_deep_open_count_get(library, &count));
    assert_false(tg_deep_open_count_learn(library, fail_to_open, dlclose));
    assert_false(tg_deep_open_count_get(library, &count));
    disturbing_library = library;
    assert_true(
        tg_deep_open_count_learn(library, open_disturbed, dlclose)); /* what the other one found stays */
    dlclose(left_open);
    assert_true(tg_deep_open_count_learn(library, dlopen, dlclose));
    assert_int_equal(count_of(library), 1);
    void *again = dlopen("libutil.so.1", RTLD_LAZY);
    assert_ptr_equal(again, library);
    assert_int_equal(count_of(library), 2);
    assert_int_equal(dlclose(again), 0);
    assert_int_equal(count_of(library), 1);
    /* needed by the program, and opened by nobody */
    void *libc = dlopen("libc.so.6", RTLD_LAZY);
    uint32_t opened = count_of(libc);
    dlclose(libc);
    assert_int_equal(count_of(libc), opened - 1);
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_handles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
