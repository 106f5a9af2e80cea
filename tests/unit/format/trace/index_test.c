#include "tests/support/trace_fixture.h"

#include "format/event/event.h"
#include "format/trace/index.h"
#include "format/trace/section.h"

#include <string.h>

static void assert_same_set(const struct tg_kind_set *a, const struct tg_kind_set *b)
{
    assert_int_equal(a->is_known, b->is_known);
    assert_int_equal(a->any_stop, b->any_stop);
    assert_memory_equal(a->kinds, b->kinds, sizeof a->kinds);
}

/* READ, which was decoded from PAYLOAD, gets the kinds of INDEX, which PAYLOAD was encoded from. */
static void expect_kinds(const struct tg_trace_index *index, const struct tg_byte_buffer *payload,
                         struct tg_trace_index *read)
{
    uint64_t hash = tg_section_hash(payload->data, payload->size);
    struct tg_byte_buffer kinds = {0};
    assert_fine(tg_trace_index_encode_kinds(index, payload, &kinds));
    size_t size = kinds.size;
    assert_true(tg_byte_buffer_reserve(&kinds, TG_CURSOR_PADDING));
    struct tg_byte_source source = {.file = "index", .section = "KINDS", .start = kinds.data};
    struct tg_byte_cursor cursor = {kinds.data, kinds.data + size, &source}, whole = cursor;
    assert_fine(tg_trace_index_decode_kinds(read, hash + 1, &cursor)); /* of another index */
    assert_false(read->entries[0].kinds.is_known);
    cursor = whole;
    cursor.end--;
    expect_error(tg_trace_index_decode_kinds(read, hash, &cursor), TG_ERROR_INPUT, "KINDS");
    assert_false(read->entries[0].kinds.is_known);
    cursor = whole;
    assert_fine(tg_trace_index_decode_kinds(NULL, 0, &cursor));
    cursor = whole;
    assert_fine(tg_trace_index_decode_kinds(read, hash, &cursor));
    for (size_t i = 0; i < read->count; i++) {
        assert_same_set(&read->entries[i].kinds, &index->entries[i].kinds);
        assert_true(read->entries[i].kinds.is_known);
    }
    const struct tg_kind_set *first = &read->entries[0].kinds, *last = &read->entries[read->count - 1].kinds;
    assert_true(tg_kind_set_has(first, TG_EVENT_MPI_ENTER) && !tg_kind_set_has(first, TG_EVENT_NOTE));
    assert_true(tg_kind_set_has(last, TG_EVENT_NOTE) && !tg_kind_set_has(last, TG_EVENT_MPI_ENTER));
    assert_true(!first->any_stop && last->any_stop);
    tg_byte_buffer_deinit(&kinds);
}

/* An index of one entry, of the kinds that BYTES say. */
static struct tg_error *decode_entry(const char *bytes, size_t size, struct tg_kind_set *set)
{
    struct tg_index_entry entry = {.chunks = 1};
    struct tg_trace_index index = {.entries = &entry, .count = 1};
    uint8_t payload[64 + TG_CURSOR_PADDING] = {7, 1}; /* hash, number of entries */
    struct tg_byte_source source = {.file = "index", .section = "KINDS", .start = payload};
    struct tg_byte_cursor cursor = {payload, payload + 2 + size, &source};
    memcpy(payload + 2, bytes, size);
    struct tg_error *error = tg_trace_index_decode_kinds(&index, 7, &cursor);
    *set = entry.kinds;
    return error;
}

static void kinds_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct tg_kind_set set;
    assert_fine(decode_entry("\0", 1, &set)); /* nothing is known */
    assert_false(set.is_known);
    assert_fine(decode_entry("\1\1\x81\x02", 4, &set));
    assert_true(set.is_known && !set.any_stop && tg_kind_set_has(&set, TG_EVENT_PROCESS_START));
    assert_fine(decode_entry("\3\2\x81\x02\x7e", 5, &set)); /* of a kind that is newer */
    assert_false(set.is_known);
    expect_error(decode_entry("\4\0", 2, &set), TG_ERROR_INPUT, "flags");
    expect_error(decode_entry("\2\0", 2, &set), TG_ERROR_INPUT, "stops of unknown kinds");
    expect_error(decode_entry("\1\2\x81\x02\0", 5, &set), TG_ERROR_INPUT, "twice");
    expect_error(decode_entry("\1\2\x81\x02\xff\xff\3", 7, &set), TG_ERROR_INPUT, "kind number");
    expect_error(decode_entry("\1\5\x81\x02", 4, &set), TG_ERROR_INPUT, "kind number");
    assert_false(set.is_known); /* of an index that is damaged nothing is used */
    expect_error(decode_entry("\1\1\x81\x02\0", 5, &set), TG_ERROR_INPUT, "trailing");
    assert_false(set.is_known);
}

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
                                       .last_time_ns = i * 50 + 60,
                                       .kinds = {.is_known = true, .any_stop = i == N - 1}};
        tg_kind_set_add(&chunk.kinds, i < N / 2 ? TG_EVENT_MPI_ENTER : TG_EVENT_NOTE);
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
    for (size_t i = 0; i < read.count; i++) {
        assert_int_equal(read.entries[i].offset, index.entries[i].offset);
        assert_int_equal(read.entries[i].events, index.entries[i].events);
        assert_int_equal(read.entries[i].first_time_ns, index.entries[i].first_time_ns);
        assert_int_equal(read.entries[i].last_time_ns, index.entries[i].last_time_ns);
        assert_false(read.entries[i].kinds.is_known);
    }
    payload.size = size;
    expect_kinds(&index, &payload, &read);
    tg_trace_index_deinit(&read);
    cursor = (struct tg_byte_cursor){payload.data, payload.data + size - 1, &source};
    expect_error(tg_trace_index_decode(&read, &cursor), TG_ERROR_INPUT, "INDEX");
    assert_null(read.entries);
    tg_byte_buffer_deinit(&payload);
    tg_trace_index_deinit(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_long_index_gets_coarser_and_stays_bounded),
                                       cmocka_unit_test(kinds_that_cannot_be_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
