#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/settings/break_spec.h"

static const struct {
    const char *text;
    struct tg_break_spec spec;
} good[] = {
    {"main", {.kind = TG_BREAK_FUNCTION, .name = "main"}},
    {"_ZN3foo3barEv", {.kind = TG_BREAK_FUNCTION, .name = "_ZN3foo3barEv"}},
    {"foo::bar", {.kind = TG_BREAK_FUNCTION, .name = "foo::bar"}},
    {"foo::bar(int, char *)", {.kind = TG_BREAK_FUNCTION, .name = "foo::bar(int, char *)"}},
    {"a/b.c", {.kind = TG_BREAK_FUNCTION, .name = "a/b.c"}},
    {"f\xc3\xbc\xff", {.kind = TG_BREAK_FUNCTION, .name = "f\xc3\xbc\xff"}},
    {"solve.c:12", {.kind = TG_BREAK_LINE, .name = "solve.c", .line = 12}},
    {"/src/a:b/solve.c:012", {.kind = TG_BREAK_LINE, .name = "/src/a:b/solve.c", .line = 12}},
    {"a b.c:4294967295", {.kind = TG_BREAK_LINE, .name = "a b.c", .line = 4294967295}},
    {"solve.c#40", {.kind = TG_BREAK_LINE, .name = "solve.c", .line = 40}},
    {"#solve.c#40", {.kind = TG_BREAK_LINE, .name = "solve.c", .line = 40}},
    {"../regress/fork_loop.cxx#580",
     {.kind = TG_BREAK_LINE, .name = "../regress/fork_loop.cxx", .line = 580}},
    {"a#3.c:12", {.kind = TG_BREAK_LINE, .name = "a#3.c", .line = 12}},
    {"a#b.c#12", {.kind = TG_BREAK_LINE, .name = "a#b.c", .line = 12}},
    {"ns::f#12", {.kind = TG_BREAK_LINE, .name = "ns::f", .line = 12}},
    {"f#g", {.kind = TG_BREAK_FUNCTION, .name = "f#g"}},
    {"lib`#x.c#7", {.kind = TG_BREAK_LINE, .library = "lib", .name = "x.c", .line = 7}},
    {"*0x4005d0", {.kind = TG_BREAK_ADDRESS, .address = 0x4005d0}},
    {"*0XfF", {.kind = TG_BREAK_ADDRESS, .address = 0xff}},
    {"*0xffffffffffffffff", {.kind = TG_BREAK_ADDRESS, .address = UINT64_MAX}},
    {"*18446744073709551615", {.kind = TG_BREAK_ADDRESS, .address = UINT64_MAX}},
    {"*0", {.kind = TG_BREAK_ADDRESS, .address = 0}},
    {"libfoo.so*`init", {.kind = TG_BREAK_FUNCTION, .library = "libfoo.so*", .name = "init"}},
    {"*/lib?.so`x.c:7", {.kind = TG_BREAK_LINE, .library = "*/lib?.so", .name = "x.c", .line = 7}},
    {"*`*0x10", {.kind = TG_BREAK_ADDRESS, .library = "*", .address = 0x10}},
    {" `f", {.kind = TG_BREAK_FUNCTION, .library = " ", .name = "f"}}, /* spaces belong to patterns */
};

static void assert_same(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        assert_true(a == b);
    else
        assert_string_equal(a, b);
}

static void every_form_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct tg_break_spec *spec = NULL;
        struct tg_error *error = tg_break_spec_parse(good[i].text, &spec);
        if (error != NULL)
            fail_msg("%s", tg_error_message(error));
        assert_int_equal(spec->kind, good[i].spec.kind);
        assert_string_equal(spec->text, good[i].text);
        assert_same(spec->library, good[i].spec.library);
        assert_same(spec->name, good[i].spec.name);
        assert_int_equal(spec->line, good[i].spec.line);
        assert_true(spec->address == good[i].spec.address);
        tg_break_spec_destroy(spec);
    }
    tg_break_spec_destroy(NULL);
}

static const struct {
    const char *text;
    const char *says; /* position and part of what is expected */
} bad[] = {
    {"", "position 1: expected FUNCTION, FILE:LINE or *ADDRESS"},
    {"`main", "position 1: expected a library"},
    {"lib`", "position 5: expected FUNCTION"},
    {"a`b`c", "position 4: second '`'"},
    {" main", "position 1: name begins"},
    {"main ", "position 5: name ends"},
    {"lib`main\n", "position 9: name ends"},
    {"a.c :3", "position 4: name ends"},
    {"a.c:", "position 5: expected a line number"},
    {"a.c:0", "position 5: expected a line number from 1"},
    {"a.c:12x", "position 7: expected a line number from 1"},
    {"a.c:4294967296", "position 14: expected a line number from 1"},
    {"a.c:99999999999999999999", "position 14: expected a line number from 1"},
    {":12", "position 1: expected a file name"},
    {"#12", "position 1: expected a file name"},
    {"##12", "position 2: expected a file name"},
    {"a.c#", "position 5: expected a line number"},
    {"a.c#0", "position 5: expected a line number from 1"},
    {"a.c#12x", "position 7: expected a line number from 1"},
    {"*", "position 2: expected an address"},
    {"*0x", "position 4: expected an address"},
    {"*0xg", "position 4: expected an address"},
    {"*4005d0", "position 6: expected an address"},
    {"*010", "position 2: expected an address in hex"},
    {"*0x10000000000000000", "position 20: expected an address of at most 64 bits"},
    {"*18446744073709551616", "position 21: expected an address of at most 64 bits"},
    {"*-1", "position 2: expected an address"},
    {"lib`* 0x10", "position 6: expected an address"},
};

static void errors_say_where_and_what(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tg_break_spec *spec = NULL;
        struct tg_error *error = tg_break_spec_parse(bad[i].text, &spec);
        if (error == NULL)
            fail_msg("'%s' was taken", bad[i].text);
        assert_int_equal(tg_error_code(error), TG_ERROR_INPUT);
        if (strstr(tg_error_message(error), bad[i].says) == NULL)
            fail_msg("'%s' lacks '%s'", tg_error_message(error), bad[i].says);
        assert_non_null(strstr(tg_error_message(error), bad[i].text));
        assert_null(spec);
        tg_error_destroy(error);
    }
}

static void beyond_the_limits_is_an_error(void **state)
{
    (void)state;
    char *text = malloc(TG_BREAK_SPEC_MAX_BYTES + 2);
    assert_non_null(text);
    memset(text, 'f', TG_BREAK_SPEC_MAX_BYTES + 1);
    text[TG_BREAK_SPEC_MAX_BYTES + 1] = '\0';
    struct tg_break_spec *spec = NULL;
    struct tg_error *error = tg_break_spec_parse(text, &spec);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    assert_true(strlen(tg_error_message(error)) < 400);
    tg_error_destroy(error);

    text[TG_BREAK_SPEC_MAX_BYTES] = '\0';
    assert_null(tg_break_spec_parse(text, &spec));
    tg_break_spec_destroy(spec);

    spec = NULL;
    char *end = stpcpy(text, "[a-]");
    for (unsigned i = 0; i < 300; i++)
        end = stpcpy(end, "*x");
    stpcpy(end, "`f");
    error = tg_break_spec_parse(text, &spec);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_LIMIT);
    assert_null(spec);
    tg_error_destroy(error);
    free(text);
}

static void a_library_is_meant_by_path_or_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path;
        bool admits;
    } cases[] = {
        {"f", "/lib/libfoo.so.1", true},
        {"libfoo.so*`f", "/lib/libfoo.so.1", true},
        {"/lib/libfoo.so.1`f", "/lib/libfoo.so.1", true},
        {"*/libfoo.so*`f", "/lib/libfoo.so.1", true},
        {"libfoo`f", "/lib/libfoo.so.1", false},
        {"libfoo.so.1`f", "libfoo.so.1", true},
        {"/usr/lib/libfoo.so.1`f", "/lib/libfoo.so.1", false},
        {"lib`f", "/lib/", false},
        {"*`f", "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tg_break_spec *spec = NULL;
        assert_null(tg_break_spec_parse(cases[i].text, &spec));
        if (tg_break_spec_admits(spec, cases[i].path) != cases[i].admits)
            fail_msg("%s on %s", cases[i].text, cases[i].path);
        tg_break_spec_destroy(spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(beyond_the_limits_is_an_error),
        cmocka_unit_test(a_library_is_meant_by_path_or_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
