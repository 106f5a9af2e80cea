#include "recorder/stacks/python_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void by_lnotab(void **state)
{
    (void)state;
    /* from address 6 on two lines further, from 56 on one line back */
    static const uint8_t table[] = {6, 2, 50, 255};
    static const struct {
        int64_t offset;
        unsigned line;
    } expected[] = {{-1, 10}, {0, 10}, {5, 10}, {6, 12}, {55, 12}, {56, 11}, {1000, 11}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(tg_python_line(TG_PYTHON_LNOTAB, table, sizeof table, 10, expected[i].offset),
                         expected[i].line);
}

static void by_lines_of_3_10(void **state)
{
    (void)state;
    /* 4 bytes of line 11, 2 without a line, 6 of line 9 */
    static const uint8_t table[] = {4, 1, 2, 128, 6, 254};
    assert_int_equal(tg_python_line(TG_PYTHON_LINES_310, table, sizeof table, 10, 0), 11);
    assert_int_equal(tg_python_line(TG_PYTHON_LINES_310, table, sizeof table, 10, 3), 11);
    assert_int_equal(tg_python_line(TG_PYTHON_LINES_310, table, sizeof table, 10, 4), 0);
    assert_int_equal(tg_python_line(TG_PYTHON_LINES_310, table, sizeof table, 10, 6), 9);
    assert_int_equal(tg_python_line(TG_PYTHON_LINES_310, table, sizeof table, 10, 12), 0);
}

static void by_locations(void **state)
{
    (void)state;
    static const uint8_t table[] = {
        0x80 | 0 << 3 | 1,  0x11,             /* two units, line 10, columns */
        0x80 | 12 << 3 | 0, 1,    2,          /* one unit, line 12 */
        0x80 | 13 << 3 | 0, 0x05,             /* one unit, no columns, line 10 */
        0x80 | 14 << 3 | 2, 0x42, 1, 0, 1, 2, /* three units, line 43, its end and columns */
        0x80 | 15 << 3 | 0,                   /* one unit of no line */
    };
    static const unsigned lines[] = {10, 10, 12, 10, 43, 43, 43, 0, 0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(tg_python_line(TG_PYTHON_LOCATIONS, table, sizeof table, 10, (int64_t)(2 * i)),
                         lines[i]);
    assert_int_equal(tg_python_line(TG_PYTHON_LOCATIONS, table, sizeof table, 10, -2), 10);
}

/* Any bytes: bounded, and a line that can be, or none. */
static void any_bytes(void **state)
{
    (void)state;
    srand(7);
    for (unsigned n = 0; n < 20000; n++) {
        size_t size = (size_t)rand() % 40;
        uint8_t *table = malloc(size + 1);
        for (size_t i = 0; i < size; i++)
            table[i] = (uint8_t)(rand() | (rand() % 2 ? 0x80 : 0));
        for (int code = TG_PYTHON_LNOTAB; code <= TG_PYTHON_LOCATIONS; code++)
            assert_true(tg_python_line((enum tg_python_line_code)code, table, size, INT32_MAX,
                                       rand() % 300) <= INT32_MAX);
        free(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_lnotab),
        cmocka_unit_test(by_lines_of_3_10),
        cmocka_unit_test(by_locations),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
