#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/printable.h"

static const struct {
    const char *text, *shown;
} cases[] = {
    {"", ""},
    {"/usr/lib/libm.so.6", "/usr/lib/libm.so.6"},
    {"a\nb\tc\r", "a\\nb\\tc\\r"},
    {"\033[31mred", "\\x1b[31mred"},
    {"back\\slash", "back\\\\slash"},
    {"\x7f", "\\x7f"},
    {"caf\xc3\xa9", "caf\xc3\xa9"},
    {"caf\xe9!", "caf\\xe9!"},
    {"\xc2\x9b"
     "31m",
     "\\u{009b}31m"},
    {"lib\xe2\x80\xae"
     "so.xyz",
     "lib\\u{202e}so.xyz"},
    {"\xf3\xa0\x81\x81", "\\u{e0041}"},
    {"\xe2\x82", "\\xe2\\x82"},
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
};

static void dangerous_bytes_are_shown_not_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[64];
        assert_ptr_equal(tg_printable(cases[i].text, buffer, sizeof buffer), buffer);
        assert_string_equal(buffer, cases[i].shown);
    }
}

static void the_stream_form_writes_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        tg_printable_write(stream, cases[i].text);
        fclose(stream);
        assert_string_equal(text, cases[i].shown);
        free(text);
    }
}

static void quotes_inside_quotes_are_escaped(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    tg_printable_write_quoted(stream, "a\" b\\\"\n\"");
    tg_printable_write_quoted(stream, "");
    tg_printable_write(stream, "\"");
    fclose(stream);
    assert_string_equal(text, "\"a\\\" b\\\\\\\"\\n\\\"\"\"\"\"");
    free(text);
}

static void long_text_is_cut_at_a_whole_character(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cuts[] = {
        {"1234567", "1234567"},
        {"12345678", "1234..."},
        {"123\xc3\xa9"
         "5678",
         "123..."},
        {"12\xc3\xa9"
         "45678",
         "12\xc3\xa9..."},
        {"12345\n", "12345\\n"},
        {"123456\n", "1234..."},
        {"\033\033\033", "\\x1b..."},
        {"\xf3\xa0\x81\x81", "..."},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char buffer[9];
        memset(buffer, '#', sizeof buffer);
        tg_printable(cuts[i].text, buffer, 8);
        assert_string_equal(buffer, cuts[i].shown);
        assert_int_equal(buffer[8], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dangerous_bytes_are_shown_not_sent),
        cmocka_unit_test(the_stream_form_writes_the_same),
        cmocka_unit_test(quotes_inside_quotes_are_escaped),
        cmocka_unit_test(long_text_is_cut_at_a_whole_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
