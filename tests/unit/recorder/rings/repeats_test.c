#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/rings/repeats.h"

enum { PLACE = 5, KIND = TG_RECORD_MPI_ENTER, WORDS = 10 };

static int set_up(void **state)
{
    *state = tg_ring_repeats_create();
    return *state == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    tg_ring_repeats_destroy(*state);
    return 0;
}

/* What the agent calls the SERIAL-th repeat at PLACE. */
static uint64_t name_of(uint64_t serial)
{
    return TG_RECORD_AGAIN | 2 << TG_AGENT_WORDS_SHIFT | (uint64_t)PLACE << TG_AGENT_REPEAT_SHIFT |
           serial << TG_AGENT_SERIAL_SHIFT;
}

/* Takes a record that names the SERIAL-th repeat, which stands for a record with TAG. */
static void take(struct tg_ring_repeats *repeats, uint64_t serial, uint64_t tag, uint64_t record[2])
{
    size_t place;
    record[0] = 0;
    record[1] = name_of(serial);
    const struct tg_agent_repeat given = {.name = record[1],
                                          .words = {[0] = KIND | WORDS << TG_AGENT_WORDS_SHIFT, [1] = tag}};
    if (tg_ring_repeats_needs(repeats, record, &place)) {
        assert_int_equal(place, PLACE);
        assert_null(tg_ring_repeats_read(repeats, record, place, &given));
    }
    tg_ring_repeats_take(repeats, record);
}

static const struct tg_ring_repeat *expect_told(struct tg_ring_repeats *repeats, const uint64_t *record,
                                                uint64_t tag)
{
    const struct tg_ring_repeat *repeat = tg_ring_repeats_tell(repeats, record);
    assert_int_equal(repeat->words[2], tag);
    return repeat;
}

static void test_names_stand_for_their_records_until_these_are_told(void **state)
{
    uint64_t first[2], again[2], second[2], third[2], fourth[2];
    take(*state, 1, 11, first);
    take(*state, 1, 11, again);
    take(*state, 2, 22, second); /* at the same place */
    const struct tg_ring_repeat *former = expect_told(*state, first, 11);
    take(*state, 3, 33, third);
    assert_ptr_equal(expect_told(*state, again, 11), former);
    take(*state, 4, 44, fourth); /* the memory of the first, which nothing names any more */
    expect_told(*state, second, 22);
    expect_told(*state, third, 33);
    assert_ptr_equal(expect_told(*state, fourth, 44), former);
}

static void test_runs_of_known_repeats_are_taken_at_once(void **state)
{
    enum { N = 8 };
    uint64_t known[2], first_ticks = 100, last_ticks = 200;
    take(*state, 1, 11, known);
    expect_told(*state, known, 11);
    for (size_t end = 0; end <= N; end++) /* what ends the run, if anything does */
        for (int why = 0; why < 4; why++) {
            uint64_t records[2 * N], latest = last_ticks;
            for (size_t i = 0; i < N; i++) {
                records[2 * i] = first_ticks + (i * 37) % 64;
                records[2 * i + 1] = name_of(1);
            }
            if (end < N) {
                records[2 * end] = why == 0 ? first_ticks - 1 : why == 1 ? last_ticks + 1 : first_ticks;
                records[2 * end + 1] = why == 2   ? name_of(2)
                                       : why == 3 ? KIND | 2 << TG_AGENT_WORDS_SHIFT
                                                  : name_of(1);
            }
            uint64_t expected = 0;
            for (size_t i = 0; i < end; i++)
                expected = records[2 * i] > expected ? records[2 * i] : expected;
            assert_int_equal(tg_ring_repeats_take_run(*state, records, 2 * N, first_ticks, &latest), 2 * end);
            assert_int_equal(latest, expected);
            for (size_t i = 0; i < end; i++)
                expect_told(*state, records + 2 * i, 11);
        }
    uint64_t half[3] = {first_ticks, name_of(1), first_ticks}, latest = last_ticks;
    assert_int_equal(tg_ring_repeats_take_run(*state, half, 3, first_ticks, &latest), 2);
    expect_told(*state, half, 11);
}

static void test_memory_does_not_grow_with_what_is_replaced(void **state)
{
    const struct tg_ring_repeat *seen[3] = {NULL};
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t record[2];
        take(*state, i % 1000, i, record);
        const struct tg_ring_repeat *found = expect_told(*state, record, i);
        size_t n = 0;
        while (n < 3 && seen[n] != NULL && seen[n] != found)
            n++;
        assert_true(n < 3);
        seen[n] = found;
    }
}

static void test_what_repeats_nothing_is_refused(void **state)
{
    const uint64_t record[2] = {0, name_of(1)};
    const struct tg_agent_repeat other = {.name = name_of(2),
                                          .words = {KIND | WORDS << TG_AGENT_WORDS_SHIFT}};
    const struct tg_agent_repeat odd = {.name = name_of(1),
                                        .words = {KIND | (WORDS + 1) << TG_AGENT_WORDS_SHIFT}};
    assert_string_equal(tg_ring_repeats_read(*state, record, PLACE, &other), "record that repeats nothing");
    assert_string_equal(tg_ring_repeats_read(*state, record, PLACE, &odd), "record that repeats nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_stand_for_their_records_until_these_are_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_runs_of_known_repeats_are_taken_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_does_not_grow_with_what_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_repeats_nothing_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
