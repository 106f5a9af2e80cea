#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/byte_buffer.h"
#include "format/trace/chunk_rows.h"

#include <string.h>

enum { NUMBERS = 3 };

static uint32_t put(struct tg_chunk_rows *rows, uint64_t a, uint64_t b, uint64_t c, uint32_t n_events)
{
    const uint64_t numbers[NUMBERS] = {a, b, c};
    assert_true(tg_chunk_rows_reserve(rows));
    uint32_t row = tg_chunk_rows_put(rows, numbers, n_events);
    assert_memory_equal(tg_chunk_rows_at(rows, row), numbers, sizeof numbers);
    return row;
}

static void equal_rows_are_one(void **state)
{
    (void)state;
    struct tg_chunk_rows rows = {.n_numbers = NUMBERS};
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(put(&rows, i % 1000, UINT64_MAX - i % 10, i % 2, i), i % 1000);
    assert_int_equal(rows.n_rows, 1000);
    assert_false(rows.gave_up);
    tg_chunk_rows_clear(&rows);
    assert_int_equal(put(&rows, 7, 7, 7, 0), 0);
    assert_int_equal(put(&rows, 0, UINT64_MAX, 0, 1), 1); /* nothing is left of those before */
    tg_chunk_rows_deinit(&rows);
}

static void rows_that_do_not_come_again_are_not_looked_for(void **state)
{
    (void)state;
    struct tg_chunk_rows rows = {.n_numbers = NUMBERS};
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(put(&rows, i, 0, 0, i), i);
    assert_true(rows.gave_up);
    assert_int_equal(put(&rows, 5, 0, 0, 10000), 10000);
    tg_chunk_rows_deinit(&rows);
}

static void rows_know_their_bytes(void **state)
{
    (void)state;
    struct tg_chunk_rows rows = {.n_numbers = NUMBERS};
    assert_int_equal(tg_chunk_rows_bytes(&rows, put(&rows, 0, 127, 128, 0)), 1 + 1 + 2);
    assert_int_equal(tg_chunk_rows_bytes(&rows, put(&rows, UINT64_MAX, 0, 0, 1)), 10 + 1 + 1);
    tg_chunk_rows_deinit(&rows);
    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t value = bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
        uint8_t bytes[TG_VARINT_MAX_BYTES];
        struct tg_byte_buffer buffer = {.data = bytes, .capacity = sizeof bytes};
        tg_byte_buffer_put_varint(&buffer, value);
        assert_int_equal(tg_varint_bytes(value), buffer.size);
    }
}

static void assert_numbers(const struct tg_chunk_rows *rows, uint32_t row, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t numbers[NUMBERS] = {a, b, c};
    for (uint32_t f = 0; f < NUMBERS; f++)
        assert_int_equal(tg_chunk_rows_number(rows, row, f), numbers[f]);
}

static uint32_t vary(struct tg_chunk_rows *rows, uint32_t row, uint32_t fields, uint64_t first,
                     uint64_t second)
{
    const uint64_t numbers[] = {first, second};
    assert_true(tg_chunk_rows_reserve_variant(rows));
    return tg_chunk_rows_vary(rows, row, fields, numbers);
}

static void a_variant_is_another_row_but_for_a_number_or_two(void **state)
{
    enum { A = 1, B = 2, C = 4 };
    (void)state;
    struct tg_chunk_rows rows = {.n_numbers = NUMBERS};
    uint32_t first = put(&rows, 1, 2, 3, 0), second = put(&rows, 7, 8, 9, 1);
    uint32_t one = vary(&rows, first, B, 20, 0), two = vary(&rows, second, B | C, 80, 90);
    assert_numbers(&rows, one, 1, 20, 3); /* also now that C moves */
    assert_numbers(&rows, two, 7, 80, 90);
    assert_numbers(&rows, vary(&rows, two, B, 81, 0), 7, 81, 90);
    assert_numbers(&rows, vary(&rows, one, A | B, 1, 21), 1, 21, 3); /* A is as it was */
    assert_int_equal(vary(&rows, one, A, 10, 0), TG_CHUNK_NO_ROW);
    assert_int_equal(vary(&rows, first, A | C, 10, 30), TG_CHUNK_NO_ROW);
    assert_numbers(&rows, first, 1, 2, 3);
    assert_numbers(&rows, one, 1, 20, 3);
    assert_int_equal(tg_chunk_rows_base(&rows, two), second);
    for (uint64_t i = 0; i < 10000; i++)
        assert_numbers(&rows, vary(&rows, first, C, i, 0), 1, 2, i);
    tg_chunk_rows_clear(&rows);
    uint32_t again = put(&rows, 1, 2, 3, 0);
    assert_numbers(&rows, vary(&rows, again, A, 5, 0), 5, 2, 3); /* other fields may move in another chunk */
    tg_chunk_rows_deinit(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_rows_are_one),
        cmocka_unit_test(rows_that_do_not_come_again_are_not_looked_for),
        cmocka_unit_test(rows_know_their_bytes),
        cmocka_unit_test(a_variant_is_another_row_but_for_a_number_or_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
