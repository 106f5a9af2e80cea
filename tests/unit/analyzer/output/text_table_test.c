#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/output/text_table.h"

static void expect(const char *const *headings, bool colour, const char *const rows[][3], size_t n_rows,
                   const char *expected)
{
    struct tg_text_table *table = NULL;
    assert_null(tg_text_table_create(headings, colour, &table));
    for (size_t i = 0; i < n_rows; i++)
        assert_null(tg_text_table_add(table, rows[i]));
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_null(tg_text_table_print(table, stream));
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
    tg_text_table_destroy(table);
}

static const char *const headings[] = {"NAME", ">COUNT", "PLACE", NULL};

static void columns_are_as_wide_as_their_cells(void **state)
{
    (void)state;
    const char *const rows[][3] = {
        {"a", "1", "here"}, {"longer", "1,234,567", ""}, {"", "", ""}, {"b", "22", "x"}};
    expect(headings, false, rows, 4,
           "NAME        COUNT  PLACE\n"
           "a               1  here\n"
           "longer  1,234,567\n"
           "\n"
           "b              22  x\n");
    expect(headings, true, rows, 1, "\033[1mNAME  COUNT  PLACE\033[0m\na         1  here\n");
    expect(headings, false, NULL, 0, "");
}

static void characters_take_the_places_they_have(void **state)
{
    (void)state;
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        skip();
    /* wide, combining, unassigned, malformed */
    const char *const rows[][3] = {{"\xe4\xb8\xad\xe6\x96\x87", "1", "x"},
                                   {"e\xcc\x81", "2", "x"},
                                   {"\xcd\xb8", "3", "x"},
                                   {"\xff", "4", "x"}};
    expect(headings, false, rows, 4,
           "NAME  COUNT  PLACE\n"
           "\xe4\xb8\xad\xe6\x96\x87      1  x\n"
           "e\xcc\x81         2  x\n"
           "\xcd\xb8         3  x\n"
           "\xff         4  x\n");
}

static void a_very_long_cell_is_not_cut(void **state)
{
    (void)state;
    char path[5001], expected[6000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    const char *const rows[][3] = {{"n", "1", path}};
    snprintf(expected, sizeof expected, "NAME  COUNT  PLACE\nn         1  %s\n", path);
    expect(headings, false, rows, 1, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_cells),
        cmocka_unit_test(characters_take_the_places_they_have),
        cmocka_unit_test(a_very_long_cell_is_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
