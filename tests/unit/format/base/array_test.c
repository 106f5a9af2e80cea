#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/base/array.h"

struct pair {
    uint32_t first, second;
};

struct pairs {
    struct pair *items;
    size_t count, capacity;
};

static void items_stay_while_the_array_grows(void **state)
{
    (void)state;
    struct pairs pairs = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        assert_null(
            TG_ARRAY_APPEND(pairs.items, pairs.count, pairs.capacity, (struct pair){i, .second = 2 * i}));
        assert_true(pairs.capacity >= pairs.count);
    }
    assert_int_equal(pairs.count, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(pairs.items[i].first, i);
        assert_int_equal(pairs.items[i].second, 2 * i);
    }
    free(pairs.items);
}

static void reserved_room_is_what_was_asked_for(void **state)
{
    (void)state;
    struct pairs pairs = {0};
    size_t none = 0;
    assert_null(TG_ARRAY_RESERVE(pairs.items, pairs.capacity, none));
    assert_null(pairs.items);
    assert_null(TG_ARRAY_RESERVE(pairs.items, pairs.capacity, 100));
    assert_int_equal(pairs.capacity, 100);
    assert_null(TG_ARRAY_RESERVE(pairs.items, pairs.capacity, 100));
    assert_int_equal(pairs.capacity, 100);
    assert_null(TG_ARRAY_RESERVE(pairs.items, pairs.capacity, 101));
    assert_int_equal(pairs.capacity, 200);
    free(pairs.items);
}

static void copies_are_of_their_own(void **state)
{
    (void)state;
    const struct pair from[] = {{1, 2}, {3, 4}, {5, 6}};
    struct pairs copy = {0}, nothing = {0};
    assert_null(TG_ARRAY_COPY(copy.items, copy.count, copy.capacity, from, 3));
    assert_int_equal(copy.count, 3);
    assert_memory_equal(copy.items, from, sizeof from);
    assert_ptr_not_equal(copy.items, from);
    assert_null(TG_ARRAY_COPY(nothing.items, nothing.count, nothing.capacity, (struct pair *)NULL, 0));
    assert_int_equal(nothing.count, 0);
    assert_ptr_equal(TG_ARRAY_COPY(nothing.items, nothing.count, nothing.capacity, from, SIZE_MAX / 2),
                     tg_error_no_memory());
    assert_int_equal(nothing.count, 0);
    assert_null(TG_ARRAY_COPY(copy.items, copy.count, copy.capacity, (struct pair *)NULL, 0));
    assert_int_equal(copy.count, 0);
    free(copy.items);
}

static void a_size_beyond_memory_is_an_error_that_changes_nothing(void **state)
{
    (void)state;
    struct pairs pairs = {0};
    assert_null(TG_ARRAY_APPEND(pairs.items, pairs.count, pairs.capacity, (struct pair){7, 8}));
    struct pairs before = pairs;
    struct tg_error *error =
        TG_ARRAY_RESERVE(pairs.items, pairs.capacity, SIZE_MAX / sizeof(struct pair) + 2);
    assert_ptr_equal(error, tg_error_no_memory());
    error = TG_ARRAY_RESERVE(pairs.items, pairs.capacity, SIZE_MAX);
    assert_int_equal(tg_error_code(error), TG_ERROR_NO_MEMORY);
    assert_memory_equal(&pairs, &before, sizeof pairs);
    assert_int_equal(pairs.items[0].second, 8);
    /* doubling overflows, too */
    size_t capacity = SIZE_MAX / 2 + 1;
    assert_non_null(TG_ARRAY_RESERVE(pairs.items, capacity, capacity + 1));
    assert_int_equal(capacity, SIZE_MAX / 2 + 1);
    /* nor is ITEM evaluated */
    size_t count = SIZE_MAX - 1, full = SIZE_MAX - 1;
    int evaluated = 0;
    assert_non_null(TG_ARRAY_APPEND(pairs.items, count, full, (struct pair){(uint32_t)evaluated++, 0}));
    assert_int_equal(evaluated, 0);
    assert_int_equal(count, SIZE_MAX - 1);
    free(pairs.items);
}

static void insertion_and_removal_keep_the_order_of_the_others(void **state)
{
    (void)state;
    int *items = NULL;
    size_t count = 0, capacity = 0;
    for (int i = 0; i < 9; i++) /* the odd ones first, from the back */
        assert_null(TG_ARRAY_INSERT(items, count, capacity, 0, 17 - 2 * i));
    for (int i = 0; i < 9; i++)
        assert_null(TG_ARRAY_INSERT(items, count, capacity, (size_t)(2 * i), 2 * i));
    assert_null(TG_ARRAY_INSERT(items, count, capacity, count, 18));
    assert_int_equal(count, 19);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(items[i], i);
    TG_ARRAY_REMOVE(items, count, 18);
    TG_ARRAY_REMOVE(items, count, 0);
    TG_ARRAY_REMOVE(items, count, 4); /* 5 now */
    assert_int_equal(count, 16);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(items[i], i < 4 ? i + 1 : i + 2);
    free(items);
}

static void a_list_without_a_capacity_grows_by_one(void **state)
{
    (void)state;
    const char **names = NULL;
    uint32_t count = 0;
    assert_null(TG_ARRAY_APPEND_EXACT(names, count, "a"));
    assert_null(TG_ARRAY_APPEND_EXACT(names, count, "b"));
    assert_int_equal(count, 2);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_while_the_array_grows),
        cmocka_unit_test(reserved_room_is_what_was_asked_for),
        cmocka_unit_test(copies_are_of_their_own),
        cmocka_unit_test(a_size_beyond_memory_is_an_error_that_changes_nothing),
        cmocka_unit_test(insertion_and_removal_keep_the_order_of_the_others),
        cmocka_unit_test(a_list_without_a_capacity_grows_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
