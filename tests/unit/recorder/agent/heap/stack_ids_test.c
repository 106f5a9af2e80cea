/* Numbers of stacks: one for each hash, small, and none where the table or the numbers end. */
#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/stack_ids.h"

#include <stdlib.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

static struct tg_heap_stack_ids begin(uint32_t size)
{
    struct tg_heap_stack_ids ids = {.slots = calloc(1, tg_heap_stack_ids_bytes(size)), .size = size};
    assert_non_null(ids.slots);
    return ids;
}

static uint64_t hash_of(uint64_t i)
{
    return tg_heap_hash_mix(tg_heap_hash_mix(0, i), i);
}

static void stacks_keep_their_numbers(void **state)
{
    enum { STACKS = 100000 };
    struct tg_heap_stack_ids ids = begin(1 << 18);
    struct tg_heap_stack_id id;
    (void)state;
    for (uint64_t i = 0; i < STACKS; i++) {
        assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(i), &id), TG_HEAP_STACK_UNTOLD);
        assert_int_equal(id.id, i + 1);
        if (i % 2 == 0)
            tg_heap_stack_ids_told(&id);
    }
    for (uint64_t i = 0; i < STACKS; i++) {
        assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(i), &id),
                         i % 2 == 0 ? TG_HEAP_STACK_TOLD : TG_HEAP_STACK_UNTOLD);
        assert_int_equal(id.id, i + 1);
    }
    free(ids.slots);
}

static void the_table_is_full(void **state)
{
    enum { ALL = 1 + 8 + 64 };
    struct tg_heap_stack_ids ids = begin(64);
    struct tg_heap_stack_id id;
    (void)state;
    for (uint64_t i = 0; i < ALL; i++)
        assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(i), &id), TG_HEAP_STACK_UNTOLD);
    assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(ALL), &id), TG_HEAP_STACK_FULL);
    assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(ALL - 1), &id), TG_HEAP_STACK_UNTOLD);
    assert_int_equal(id.id, ALL);
    free(ids.slots);
}

static void numbers_are_used_up(void **state)
{
    struct tg_heap_stack_ids ids = begin(64);
    struct tg_heap_stack_id id;
    (void)state;
    ids.slots[0] = TG_HEAP_STACK_LAST_ID - 1;
    assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(1), &id), TG_HEAP_STACK_UNTOLD);
    assert_int_equal(id.id, TG_HEAP_STACK_LAST_ID);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(2), &id), TG_HEAP_STACK_FULL);
    assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(1), &id), TG_HEAP_STACK_UNTOLD);
    free(ids.slots);
    ids.slots = NULL;
    assert_int_equal(tg_heap_stack_ids_add(&ids, hash_of(1), &id), TG_HEAP_STACK_FULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_keep_their_numbers),
        cmocka_unit_test(the_table_is_full),
        cmocka_unit_test(numbers_are_used_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
