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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_rows_are_one),
        cmocka_unit_test(rows_that_do_not_come_again_are_not_looked_for),
        cmocka_unit_test(rows_know_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
