#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/error.h"

static void prefix_adds_context_in_front(void **state)
{
    (void)state;
    struct tg_error *error = tg_error_create_errno(ENOENT, "cannot open '%s'", "a.tgt");
    error = tg_error_prefix(error, "report");
    assert_string_equal(tg_error_message(error), "report: cannot open 'a.tgt': No such file or directory");
    assert_int_equal(tg_error_code(error), TG_ERROR_OS);
    tg_error_destroy(error);
}

static void exit_status_follows_the_code(void **state)
{
    (void)state;
    struct tg_error *error = tg_error_create(TG_ERROR_TARGET, "no such program");
    assert_int_equal(tg_error_exit_status(error), 3);
    tg_error_destroy(error);
    assert_int_equal(tg_error_exit_status(NULL), 0);
}

static void no_memory_survives_everything(void **state)
{
    (void)state;
    struct tg_error *error = tg_error_prefix(tg_error_no_memory(), "context");
    assert_ptr_equal(error, tg_error_no_memory());
    tg_error_destroy(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_adds_context_in_front),
        cmocka_unit_test(exit_status_follows_the_code),
        cmocka_unit_test(no_memory_survives_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
