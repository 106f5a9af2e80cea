#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/utf8.h"

static void every_code_point_decodes_from_its_encoding(void **state)
{
    (void)state;
    for (uint32_t expected = 1; expected <= 0x10ffff; expected++) {
        if (expected >= 0xd800 && expected <= 0xdfff)
            continue;
        char text[5] = {0};
        size_t length = 0;
        if (expected < 0x80) {
            text[length++] = (char)expected;
        } else {
            if (expected < 0x800) {
                text[length++] = (char)(0xc0 | expected >> 6);
            } else {
                if (expected < 0x10000) {
                    text[length++] = (char)(0xe0 | expected >> 12);
                } else {
                    text[length++] = (char)(0xf0 | expected >> 18);
                    text[length++] = (char)(0x80 | (expected >> 12 & 0x3f));
                }
                text[length++] = (char)(0x80 | (expected >> 6 & 0x3f));
            }
            text[length++] = (char)(0x80 | (expected & 0x3f));
        }
        uint32_t code_point = 0;
        assert_int_equal(tg_utf8_decode(text, &code_point), length);
        assert_int_equal(code_point, expected);
    }
}

static void malformed_sequences_are_refused(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "\x80", "\xbf",     "\xc0\x80",         "\xc1\xbf",         "\xe0\x80\x80",     "\xed\xa0\x80",
        "\xff", "\xf5\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82",         "\xc3",
        "\xfe", "\xc3(",    "\xe2(\xa1",        "\xf0\x90\x80",     "\xf8\x88\x80\x80", "\xed\xbf\xbf",
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        uint32_t code_point = 77;
        assert_int_equal(tg_utf8_decode(malformed[i], &code_point), 0);
        assert_int_equal(code_point, 77);
    }
}

static void deceiving_characters_are_known(void **state)
{
    (void)state;
    static const uint32_t bad[] = {0,      0x1b,   0x7f,   0x9b,   0x200b, 0x200f,
                                   0x202e, 0x2028, 0x2066, 0xfeff, 0xe0041};
    static const uint32_t good[] = {' ', '~', 0xa0, 0xe9, 0x2010, 0x4e2d, 0x1f600, 0x05d0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(tg_utf8_deceives(bad[i]));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_false(tg_utf8_deceives(good[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_decodes_from_its_encoding),
        cmocka_unit_test(malformed_sequences_are_refused),
        cmocka_unit_test(deceiving_characters_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
