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

static uint64_t tag_of(const struct tg_ring_repeats *repeats, const uint64_t *record)
{
    return tg_ring_repeats_find(repeats, record)->words[2];
}

static void test_names_stand_for_their_records_until_these_are_told(void **state)
{
    uint64_t first[2], again[2], second[2], third[2], fourth[2];
    take(*state, 1, 11, first);
    take(*state, 1, 11, again);
    take(*state, 2, 22, second); /* at the same place */
    assert_ptr_equal(tg_ring_repeats_find(*state, first), tg_ring_repeats_find(*state, again));
    tg_ring_repeats_told(*state);
    take(*state, 3, 33, third);
    assert_int_equal(tag_of(*state, again), 11);
    assert_int_equal(tag_of(*state, second), 22);
    assert_int_equal(tag_of(*state, third), 33);
    const struct tg_ring_repeat *former = tg_ring_repeats_find(*state, first);
    tg_ring_repeats_told(*state);
    take(*state, 4, 44, fourth); /* the memory of the first, which nothing names any more */
    assert_ptr_equal(tg_ring_repeats_find(*state, fourth), former);
    assert_int_equal(tag_of(*state, second), 22);
    assert_int_equal(tag_of(*state, third), 33);
    assert_int_equal(tag_of(*state, fourth), 44);
}

static void test_memory_does_not_grow_with_what_is_replaced(void **state)
{
    const struct tg_ring_repeat *seen[3] = {NULL};
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t record[2];
        take(*state, i % 1000, i, record);
        assert_int_equal(tag_of(*state, record), i);
        const struct tg_ring_repeat *found = tg_ring_repeats_find(*state, record);
        size_t n = 0;
        while (n < 3 && seen[n] != NULL && seen[n] != found)
            n++;
        assert_true(n < 3);
        seen[n] = found;
        tg_ring_repeats_told(*state);
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
        cmocka_unit_test_setup_teardown(test_memory_does_not_grow_with_what_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_repeats_nothing_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
