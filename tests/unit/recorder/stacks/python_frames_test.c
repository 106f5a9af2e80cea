#include "recorder/stacks/python_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void layouts_are_of_releases(void **state)
{
    (void)state;
    const struct tg_python_layout *of_11 = tg_python_layout_of("/usr/bin/python3.11");
    assert_non_null(of_11);
    assert_ptr_equal(tg_python_layout_of("/opt/lib/libpython3.11.so.1.0"), of_11);
    assert_ptr_equal(tg_python_layout_of("/usr/bin/python3.11 (deleted)"), of_11);
    static const char *const understood[] = {"python3.9", "python3.10", "python3.12", "python3.13"};
    for (size_t i = 0; i < sizeof understood / sizeof *understood; i++) {
        assert_non_null(tg_python_layout_of(understood[i]));
        assert_ptr_not_equal(tg_python_layout_of(understood[i]), of_11);
    }
    static const char *const others[] = {
        "python",      "python3",           "python2.7",         "python3.8",    "python3.14",
        "python3.13t", "libpython3.12d.so", "python3.11-config", "/python3.11/x"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_null(tg_python_layout_of(others[i]));
}

static void extensions_name_their_release(void **state)
{
    (void)state;
    const struct tg_python_layout *of_10 = tg_python_layout_of("python3.10");
    assert_ptr_equal(tg_python_layout_of_extension("/v/lib-dynload/_json.cpython-310-x86_64-linux-gnu.so"),
                     of_10);
    assert_null(tg_python_layout_of_extension("/v/_json.cpython-313t-x86_64-linux-gnu.so"));
    assert_null(tg_python_layout_of_extension("/v/_json.cpython-38-x86_64-linux-gnu.so"));
    assert_null(tg_python_layout_of_extension("/.cpython-310-x/_json.abi3.so"));
}

static void interpreters_are_known_by_name(void **state)
{
    (void)state;
    static const char *const interpreters[] = {
        "/v/bin/python", "python3", "python2.7", "python3.14t", "libpython3.8.so.1.0", "python (deleted)"};
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
        assert_true(tg_python_is_interpreter(interpreters[i]));
    static const char *const others[] = {"/usr/lib/python3/dist-packages/x.so", "libpython3.so", "pythonic",
                                         "ipython", "libboost_python311.so"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(tg_python_is_interpreter(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_of_releases),
        cmocka_unit_test(extensions_name_their_release),
        cmocka_unit_test(interpreters_are_known_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
