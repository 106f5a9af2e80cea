#include "tests/support/trace_fixture.h"

#include "format/trace/index.h"

#include <string.h>

static void a_long_index_gets_coarser_and_stays_bounded(void **state)
{
    (void)state;
    enum { N = 5 * TG_INDEX_MAX_ENTRIES + 3 };
    struct tg_trace_index index = {0}, read = {0};
    for (uint64_t i = 0; i < N; i++) {
        struct tg_index_entry chunk = {.offset = 1000 + i * 100,
                                       .chunks = 1,
                                       .events = 10,
                                       .first_time_ns = i % 3 == 0 ? i * 50 : i * 50 - 20,
                                       .last_time_ns = i * 50 + 60};
        assert_fine(tg_trace_index_add(&index, &chunk));
        assert_true(index.count <= TG_INDEX_MAX_ENTRIES);
    }
    index.sections = N + 1;
    index.lost_events = 77;
    assert_int_equal(tg_trace_index_chunks(&index), N);
    assert_int_equal(tg_trace_index_events(&index), 10 * (uint64_t)N);
    uint64_t chunks = 0;
    for (size_t i = 0; i < index.count;
         i++) { /* no hole, no overlap, the times of all that an entry stands for */
        assert_int_equal(index.entries[i].offset, 1000 + chunks * 100);
        chunks += index.entries[i].chunks;
        assert_int_equal(index.entries[i].last_time_ns, (chunks - 1) * 50 + 60);
    }
    struct tg_byte_buffer payload = {0};
    assert_fine(tg_trace_index_encode(&index, &payload));
    size_t size = payload.size;
    assert_true(tg_byte_buffer_reserve(&payload, TG_CURSOR_PADDING));
    struct tg_byte_source source = {.file = "index", .section = "INDEX", .start = payload.data};
    struct tg_byte_cursor cursor = {payload.data, payload.data + size, &source};
    assert_fine(tg_trace_index_decode(&read, &cursor));
    assert_int_equal(read.count, index.count);
    assert_int_equal(read.lost_events, 77);
    assert_memory_equal(read.entries, index.entries, index.count * sizeof *index.entries);
    tg_trace_index_deinit(&read);
    cursor = (struct tg_byte_cursor){payload.data, payload.data + size - 1, &source};
    expect_error(tg_trace_index_decode(&read, &cursor), TG_ERROR_INPUT, "INDEX");
    assert_null(read.entries);
    tg_byte_buffer_deinit(&payload);
    tg_trace_index_deinit(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_long_index_gets_coarser_and_stays_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
