#include "tests/support/trace_fixture.h"

#include "format/trace/packed_column.h"

#include <stdlib.h>
#include <string.h>

static const struct tg_byte_source source = {.file = "column", .section = "test"};

/* Opens BYTES, all of which must be a column of N values. */
static struct tg_packed_column open_column(struct tg_byte_buffer *bytes, size_t n, bool any_form)
{
    size_t size = bytes->size;
    assert_true(tg_byte_buffer_reserve(bytes, TG_CURSOR_PADDING));
    struct tg_byte_cursor cursor = {bytes->data, bytes->data + size, &source};
    struct tg_packed_column column;
    assert_fine(tg_packed_column_open(&cursor, "c", n, any_form, &column));
    assert_ptr_equal(cursor.position, cursor.end);
    return column;
}

/* Writes the values, reads them in parts of PART and compares; returns the bytes that it took. */
static size_t round_trip(const uint64_t *values, size_t n, size_t part)
{
    struct tg_byte_buffer bytes = {0}, boundaries = {0};
    assert_true(tg_packed_column_write(&bytes, &boundaries, values, n));
    size_t size = bytes.size;
    struct tg_packed_column column = open_column(&bytes, n, false);
    uint64_t *read = calloc(n + 1, sizeof *read);
    for (size_t at = 0; at < n; at += part)
        assert_true(tg_packed_column_take(&column, read + at, n - at < part ? n - at : part));
    assert_memory_equal(read, values, n * sizeof *values);
    free(read);
    tg_byte_buffer_deinit(&bytes);
    tg_byte_buffer_deinit(&boundaries);
    return size;
}

static void values_of_every_width_come_back(void **state)
{
    (void)state;
    uint64_t values[300];
    for (unsigned bits = 0; bits <= 64; bits++) {
        for (size_t i = 0; i < 300; i++)
            values[i] = bits == 0 ? 0 : (UINT64_C(0x9e3779b97f4a7c15) * (i + 1)) >> (64 - bits);
        size_t size = round_trip(values, 300, 77);
        assert_true(bits == 0 ? size == 1 : size <= 300 * ((bits + 7) / 8) + 4);
    }
    for (size_t n = 0; n < 10; n++)
        round_trip(values, n, 1);
}

/* Byte for byte what the same values as words become, from none that is not 0 to all. */
static void bytes_are_written_as_words_are(void **state)
{
    (void)state;
    enum { MOST = 3000 };
    uint8_t values[MOST];
    uint64_t words[MOST];
    for (size_t n = 0; n <= MOST; n = n * 2 + 1)
        for (size_t every = 1; every <= 2 * MOST; every += every / 3 + 1) {
            struct tg_byte_buffer bytes = {0}, boundaries = {0}, expected = {0}, expected_boundaries = {0};
            for (size_t i = 0; i < n; i++)
                words[i] = values[i] = i % every == every - 1 ? (uint8_t)(i * 7 % 255 + 1) : 0;
            assert_true(tg_packed_column_write(&expected, &expected_boundaries, words, n));
            assert_true(tg_packed_column_write_bytes(&bytes, &boundaries, values, n));
            assert_int_equal(bytes.size, expected.size);
            assert_memory_equal(bytes.data, expected.data, bytes.size);
            assert_int_equal(boundaries.size, expected_boundaries.size);
            if (boundaries.size > 0)
                assert_memory_equal(boundaries.data, expected_boundaries.data, boundaries.size);
            tg_byte_buffer_deinit(&bytes);
            tg_byte_buffer_deinit(&boundaries);
            tg_byte_buffer_deinit(&expected);
            tg_byte_buffer_deinit(&expected_boundaries);
        }
}

static void few_great_values_cost_no_plane(void **state)
{
    (void)state;
    uint64_t values[1000];
    for (size_t i = 0; i < 1000; i++)
        values[i] = i % 100 == 99 ? UINT64_MAX - i : i % 200;
    assert_true(round_trip(values, 1000, 64) < 1000 + 10 * 12 + 4);
    for (size_t i = 0; i < 1000; i++)
        values[i] = i == 0 || i == 999 ? UINT64_MAX : 0;
    assert_true(round_trip(values, 1000, 1000) < 30); /* no plane at all */
    round_trip(values, 1000, 1);
}

/* Writes the values in the smallest form up to LAST and reads them back; returns the form. */
static enum tg_column_form smallest_form(const uint64_t *values, size_t n, enum tg_column_form last,
                                         size_t *size)
{
    struct tg_byte_buffer bytes = {0}, boundaries = {0};
    uint64_t copy[1000], read[1000];
    memcpy(copy, values, n * sizeof *values);
    assert_true(tg_packed_column_write_smallest(&bytes, &boundaries, copy, n, last));
    *size = bytes.size;
    assert_true(tg_byte_buffer_reserve(&bytes, TG_CURSOR_PADDING));
    struct tg_byte_cursor cursor = {bytes.data, bytes.data + *size, &source};
    struct tg_packed_column column;
    assert_fine(tg_packed_column_open(&cursor, "c", n, true, &column));
    enum tg_column_form form = column.form;
    for (size_t at = 0; at < n; at += 7) {
        size_t part = n - at < 7 ? n - at : 7;
        /* A column that is seen to be of one value has it as the last, too. */
        struct tg_packed_column skipped = column;
        uint64_t last_value;
        assert_true(tg_packed_column_take(&column, read + at, part));
        if (tg_packed_column_skip(&skipped, part)) {
            assert_true(tg_packed_column_take(&skipped, &last_value, 1));
            for (size_t i = 0; i < part; i++)
                assert_true(read[at + i] == last_value);
            assert_int_equal(skipped.taken, column.taken);
        }
    }
    assert_memory_equal(read, values, n * sizeof *values);
    tg_byte_buffer_deinit(&bytes);
    tg_byte_buffer_deinit(&boundaries);
    return form;
}

static void the_form_with_the_smallest_numbers_is_taken(void **state)
{
    (void)state;
    enum { N = 1000 };
    uint64_t values[N];
    size_t size;
    for (size_t i = 0; i < N; i++) /* few changes, far from 0 */
        values[i] = UINT64_C(0x7f0012345678) + i / 100;
    assert_int_equal(smallest_form(values, N, TG_COLUMN_DIFFERENCES, &size), TG_COLUMN_DIFFERENCES);
    assert_true(size < 60);
    assert_int_equal(smallest_form(values, N, TG_COLUMN_ZIGZAG, &size), TG_COLUMN_PLAIN);
    for (size_t i = 0; i < N; i++) /* both signs */
        values[i] = i % 3 == 0 ? 0 - i % 50 : i % 70;
    assert_int_equal(smallest_form(values, N, TG_COLUMN_ZIGZAG, &size), TG_COLUMN_ZIGZAG);
    assert_true(size < N + 10);
    for (size_t i = 0; i < N; i++)
        values[i] = i * UINT64_C(0x9e3779b97f4a7c15) >> 56;
    assert_int_equal(smallest_form(values, N, TG_COLUMN_DIFFERENCES, &size), TG_COLUMN_PLAIN);
    for (size_t i = 0; i < N; i++) /* differences wrap around */
        values[i] = i % 2 == 0 ? UINT64_MAX : 1;
    smallest_form(values, N, TG_COLUMN_DIFFERENCES, &size);
    assert_true(size < N + 10);
    assert_int_equal(smallest_form(values, 0, TG_COLUMN_DIFFERENCES, &size), TG_COLUMN_PLAIN);
}

/* Whatever N is, and where that is written another way than others. */
static void a_column_of_one_value_is_that_value(void **state)
{
    (void)state;
    enum { N = 200 };
    uint64_t values[N];
    size_t size;
    for (unsigned bits = 0; bits < 64; bits++)
        for (size_t n = 1; n <= N; n++) {
            values[n - 1] = UINT64_C(1) << bits;
            for (size_t i = 0; i < n; i++)
                values[i] = values[n - 1];
            enum tg_column_form form = smallest_form(values, n, TG_COLUMN_DIFFERENCES, &size);
            assert_true(n < 64 || (form == TG_COLUMN_DIFFERENCES && size <= 22));
            values[n - 1]++;
            smallest_form(values, n, TG_COLUMN_DIFFERENCES, &size);
        }
}

static void a_column_can_be_told_by_its_only_value(void **state)
{
    (void)state;
    const uint64_t values[] = {0, 1, 200, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
        for (size_t n = 1; n < 2000; n = n * 3 + 1) {
            struct tg_byte_buffer bytes = {0}, boundaries = {0};
            assert_true(tg_packed_column_write_same(&bytes, &boundaries, values[v], n));
            struct tg_packed_column column = open_column(&bytes, n, true);
            for (size_t i = 0; i < n; i++) {
                uint64_t read = 77;
                assert_true(tg_packed_column_take(&column, &read, 1));
                assert_int_equal(read, values[v]);
            }
            tg_byte_buffer_deinit(&bytes);
            tg_byte_buffer_deinit(&boundaries);
        }
}

static void forms_are_refused_where_they_may_not_be(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 16; form++)
        for (int any_form = 0; any_form < 2; any_form++) {
            uint8_t bytes[64] = {2, (uint8_t)(form << 4 | 1), 5};
            struct tg_byte_cursor cursor = {bytes, bytes + 3, &source};
            struct tg_packed_column column;
            struct tg_error *error = tg_packed_column_open(&cursor, "c", 1, any_form != 0, &column);
            if (form <= (any_form != 0 ? 2 : 0))
                assert_fine(error);
            else
                expect_error(error, TG_ERROR_INPUT, "c");
        }
}

static void expect_refused(const char *bytes, size_t size, uint64_t count, bool at_open)
{
    uint8_t padded[64] = {0};
    memcpy(padded, bytes, size);
    struct tg_byte_cursor cursor = {padded, padded + size, &source};
    struct tg_packed_column column;
    struct tg_error *error = tg_packed_column_open(&cursor, "field", count, false, &column);
    if (at_open) {
        expect_error(error, TG_ERROR_INPUT, "field");
        return;
    }
    assert_fine(error);
    uint64_t values[32];
    assert_true(count <= 32);
    assert_false(tg_packed_column_take(&column, values, (size_t)count));
}

static void malformed_columns_are_refused(void **state)
{
    (void)state;
    expect_refused("", 0, 1, true);                          /* no length */
    expect_refused("\x05\x01", 2, 1, true);                  /* longer than what is there */
    expect_refused("\x01\x09", 2, 1, true);                  /* width beyond 8 */
    expect_refused("\x02\x01\x07", 3, 2, true);              /* a plane of one byte for two values */
    expect_refused("\x02\x08\x07", 3, UINT64_MAX, true);     /* no overflow */
    expect_refused("\x03\x00\x02\x07", 4, 2, true);          /* an exception for value 2 of two */
    expect_refused("\x02\x00\x00", 3, 2, true);              /* an exception without a value */
    expect_refused("\x05\x00\x00\x07\x01\x08", 6, 2, false); /* the second exception lies beyond */
    expect_refused("\x0c\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 13, 2, true); /* beyond 64 bits */
}

static void varints_of_every_length_come_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t value = bits == 0 ? 0 : UINT64_MAX >> (64 - bits), read = 1;
        uint8_t storage[TG_VARINT_MAX_BYTES + TG_CURSOR_PADDING] = {0};
        struct tg_byte_buffer buffer = {.data = storage, .capacity = sizeof storage};
        tg_byte_buffer_put_varint(&buffer, value);
        assert_int_equal(buffer.size, bits == 0 ? 1 : (bits + 6) / 7);
        assert_ptr_equal(tg_varint_get(storage, storage + buffer.size, &read), storage + buffer.size);
        assert_true(read == value);
        for (size_t cut = 0; cut < buffer.size; cut++)
            assert_null(tg_varint_get(storage, storage + cut, &read));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_width_come_back),
        cmocka_unit_test(bytes_are_written_as_words_are),
        cmocka_unit_test(few_great_values_cost_no_plane),
        cmocka_unit_test(the_form_with_the_smallest_numbers_is_taken),
        cmocka_unit_test(a_column_of_one_value_is_that_value),
        cmocka_unit_test(a_column_can_be_told_by_its_only_value),
        cmocka_unit_test(forms_are_refused_where_they_may_not_be),
        cmocka_unit_test(malformed_columns_are_refused),
        cmocka_unit_test(varints_of_every_length_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
