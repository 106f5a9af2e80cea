/* Names by which wrappers are opened: each is known as one, and nobody else's is. */
#include "recorder/agent/deep/wrapper_file.h"

#include "recorder/agent/wrapper_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void names_are_known(void **state)
{
    (void)state;
    static const unsigned char bytes[64] = {0};
    char before[PATH_MAX + 64] = "";
    for (int i = 0; i < 70; i++) {
        struct tg_deep_file file;
        bool is_kept = i % 7 == 0;
        assert_int_equal(tg_deep_file_create("/tmp", is_kept, bytes, sizeof bytes, &file), 0);
        assert_true(tg_wrapper_name_is(file.path));
        assert_string_not_equal(file.path, before);
        strcpy(before, file.path);
        file.is_kept = false;
        tg_deep_file_release(&file);
    }
}

static void others_are_not(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "/",
                                         "libm.so.6",
                                         "/usr/lib/libm.so.6",
                                         "tollgate-deepbind",
                                         "/opt/tollgate-deepbind-7/libm.so",
                                         "/proc/self/fd/7",
                                         "/proc/12/fd/7",
                                         "/proc/12/fd//////////////////////7", /* one slash too many */
                                         "/proc/12/fd////////////////////7",   /* one too few */
                                         "/proc/12/fd///////////////////7/8",
                                         "/proc/12/fd/////////////////////libm.so/7",
                                         "/proc/12/fd"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(tg_wrapper_name_is(others[i]));
    assert_true(tg_wrapper_name_is("/proc/12/fd/////////////////////7"));
    assert_true(tg_wrapper_name_is("tollgate-deepbind-wrapper"));
    assert_true(tg_wrapper_name_is("/tmp/tollgate-deepbind-0123.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_known), cmocka_unit_test(others_are_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
