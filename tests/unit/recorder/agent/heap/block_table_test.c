#include "recorder/agent/heap/block_table.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>

static volatile uint64_t generation = 1;
struct tg_agent tg_agent = {.generation = &generation};

static uintptr_t address_of(size_t i)
{
    return (UINT64_C(1) << 40) + i * 48;
}

static bool add(size_t i)
{
    const struct tg_heap_block_entry entry = {
        .block = address_of(i), .base = address_of(i), .size = i, .state = TG_HEAP_BLOCK_LIVE};
    struct tg_heap_block_entry replaced;
    bool added = tg_heap_block_table_add(&entry, &replaced) == TG_HEAP_BLOCK_ADDED;
    assert_int_equal(replaced.block, 0);
    return added;
}

static bool count_live(const struct tg_heap_block_entry *entry, void *context)
{
    *(size_t *)context += entry->state == TG_HEAP_BLOCK_LIVE;
    return false;
}

static size_t address_space_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages;
}

/* What the table takes of the program's memory grows with what is in it. */
static void few_blocks_need_little_memory(void **state)
{
    (void)state;
    size_t before = address_space_pages();
    assert_true(tg_heap_block_table_prepare());
    for (size_t i = 0; i < 10000; i++)
        assert_true(add(i));
    assert_true(address_space_pages() - before < (4 << 20) / 4096);
}

static void all_blocks_are_found(void **state)
{
    const size_t count = 500000;
    size_t live = 0;
    (void)state;
    for (size_t i = 10000; i < count; i++)
        assert_true(add(i));
    for (size_t i = 0; i < count; i++) {
        struct tg_heap_block_entry *entry = tg_heap_block_table_find(address_of(i));
        assert_non_null(entry);
        assert_int_equal(entry->size, i);
        assert_ptr_equal(tg_heap_block_table_lock_of_entry(entry), tg_heap_block_table_lock(entry->block));
    }
    assert_null(tg_heap_block_table_find(address_of(count)));
    assert_false(tg_heap_block_table_each(count_live, &live));
    assert_int_equal(live, count);
}

/* Places of blocks that are gone are used again: no memory is needed for others. */
static void places_are_used_again(void **state)
{
    const size_t count = 500000;
    (void)state;
    for (size_t i = 0; i < count; i++)
        tg_heap_block_table_drop(tg_heap_block_table_find(address_of(i)));
    size_t before = address_space_pages(), live = 0;
    for (size_t i = count; i < 2 * count; i++)
        assert_true(add(i));
    assert_int_equal(address_space_pages(), before);
    assert_false(tg_heap_block_table_each(count_live, &live));
    assert_int_equal(live, count);
}

static void there_is_an_end(void **state)
{
    size_t i = 1000000, added = 500000;
    (void)state;
    while (add(i) && added < 4000000)
        i++, added++;
    printf("%zu\n", added);
    assert_in_range(added, 1700000, 2100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_blocks_need_little_memory),
        cmocka_unit_test(all_blocks_are_found),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(there_is_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
