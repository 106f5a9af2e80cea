#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/dump/line.h"

#include <inttypes.h>

/* What LINE has got, and what printf makes of the same. */
struct pair {
    char *made, *wanted;
    size_t made_bytes, wanted_bytes;
    FILE *made_stream, *wanted_stream;
    struct tg_dump_line line;
};

static void begin(struct pair *pair)
{
    *pair = (struct pair){0};
    pair->made_stream = open_memstream(&pair->made, &pair->made_bytes);
    pair->wanted_stream = open_memstream(&pair->wanted, &pair->wanted_bytes);
    assert_non_null(pair->made_stream);
    assert_non_null(pair->wanted_stream);
    tg_dump_line_begin(&pair->line, pair->made_stream);
}

static void compare(struct pair *pair)
{
    tg_dump_line_flush(&pair->line);
    fclose(pair->made_stream);
    fclose(pair->wanted_stream);
    assert_int_equal(pair->made_bytes, pair->wanted_bytes);
    assert_string_equal(pair->made, pair->wanted);
    free(pair->made);
    free(pair->wanted);
}

static void put_numbers(struct pair *pair, uint64_t value, unsigned digits)
{
    tg_dump_line_decimal(&pair->line, value, digits);
    tg_dump_line_words(&pair->line, " ");
    tg_dump_line_signed(&pair->line, (int64_t)value);
    tg_dump_line_words(&pair->line, " ");
    tg_dump_line_hex(&pair->line, value);
    tg_dump_line_character(&pair->line, '\n');
    fprintf(pair->wanted_stream, "%0*" PRIu64 " %" PRId64 " 0x%" PRIx64 "\n", (int)digits, value,
            (int64_t)value, value);
}

static void numbers_are_as_printf_writes_them(void **state)
{
    struct pair pair;
    (void)state;
    begin(&pair);
    for (uint64_t power = 1; power != 0; power *= 2)
        for (int64_t by = -1; by <= 1; by++)
            put_numbers(&pair, power + (uint64_t)by, 1 + (unsigned)(power % 20));
    for (uint64_t power = 1, i = 0; i < 20; power *= 10, i++)
        for (int64_t by = -1; by <= 1; by++)
            put_numbers(&pair, power + (uint64_t)by, (unsigned)i + 1);
    compare(&pair);
}

static void long_text(void **state)
{
    enum { LONG = 3 * sizeof((struct tg_dump_line *)0)->text };
    static char text[LONG];
    struct pair pair;
    (void)state;
    memset(text, 'x', sizeof text);
    begin(&pair);
    for (size_t size = 1; size < LONG; size = size * 3 / 2 + 1) {
        tg_dump_line_put(&pair.line, text, size);
        fwrite(text, 1, size, pair.wanted_stream);
        tg_dump_line_flush(&pair.line);
        tg_dump_line_words(&pair.line, "who");
        fputs("who", pair.wanted_stream);
    }
    compare(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_as_printf_writes_them),
                                       cmocka_unit_test(long_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
