#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/shell_quote.h"

#include <stdlib.h>
#include <string.h>

static void expect_path(const char *path, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    tg_shell_quote_write_path(stream, path);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

static void paths_are_quoted_where_necessary(void **state)
{
    (void)state;
    expect_path("tollgate-a.out-12.tgt", "tollgate-a.out-12.tgt");
    expect_path("a b's", "\"a b's\"");
    expect_path("$HOME", "'$HOME'");
    expect_path("$'\n", "$'$\\'\\012'");
    expect_path("~", "\"~\"");
    expect_path("", "\"\"");
}

static void a_path_is_no_option(void **state)
{
    (void)state;
    expect_path("-o", "./-o");
    expect_path("-a b", "\"./-a b\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_quoted_where_necessary),
        cmocka_unit_test(a_path_is_no_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
