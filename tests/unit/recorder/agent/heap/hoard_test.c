#include "recorder/agent/heap/hoard.h"

#include "recorder/agent/heap/guards.h"
#include "recorder/agent/heap/real.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

enum {
    SIZE = 1 << 20,
    FITTING = TG_AGENT_HEAP_HOARD_BYTES / SIZE,
    FRONT = 16,
};

/* ---- what stands for the rest of the agent: no block is memory */

static volatile uint64_t generation = 1;
static struct tg_agent_control control;
struct tg_agent tg_agent = {.generation = &generation, .control = &control};

static size_t n_freed, n_looked_at;
static uintptr_t last_freed;

static void count_free(void *base)
{
    n_freed++;
    last_freed = (uintptr_t)base;
}

struct tg_heap_real tg_heap_real = {.free = count_free};

const struct tg_heap_real *tg_heap_real_find(void)
{
    return &tg_heap_real;
}

bool tg_heap_guards_check_bytes(const struct tg_heap_block_entry *entry, uintptr_t start, size_t n,
                                unsigned char wanted, enum tg_heap_error error, const char *call,
                                const void *frame)
{
    (void)call;
    (void)frame;
    assert_int_equal(start, entry->block);
    assert_int_equal(n, entry->size);
    assert_int_equal(wanted, TG_HEAP_PAINT_FREED);
    assert_int_equal(error, TG_HEAP_PAINT_CORRUPTION);
    n_looked_at++;
    return false;
}

/* ---- tests */

static bool is_painting = true;

static uintptr_t address_of(size_t i)
{
    return (UINT64_C(1) << 40) + i * 2 * SIZE;
}

static void keep(size_t i)
{
    const struct tg_heap_block_entry entry = {.block = address_of(i),
                                              .base = address_of(i) - FRONT,
                                              .size = SIZE,
                                              .state = TG_HEAP_BLOCK_HOARDED,
                                              .is_painted = is_painting};
    struct tg_heap_block_entry replaced;
    assert_int_equal(tg_heap_block_table_add(&entry, &replaced), TG_HEAP_BLOCK_ADDED);
    tg_heap_hoard_keep(entry.block, SIZE);
}

static int set_up(void **state)
{
    (void)state;
    while (tg_heap_hoard_shrink())
        continue;
    n_freed = n_looked_at = 0;
    return 0;
}

static void the_oldest_goes_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < FITTING; i++)
        keep(i);
    assert_int_equal(n_freed, 0);
    keep(FITTING);
    assert_int_equal(n_freed, 1);
    assert_int_equal(n_looked_at, 1);
    assert_int_equal(last_freed, address_of(0) - FRONT);
    assert_null(tg_heap_block_table_find(address_of(0)));
    assert_int_equal(tg_heap_block_table_find(address_of(1))->state, TG_HEAP_BLOCK_HOARDED);
}

/* The controller of a live job wants less to be kept, and blocks not painted. */
static void less_is_kept_where_somebody_wishes(void **state)
{
    (void)state;
    for (size_t i = 0; i < FITTING; i++)
        keep(i);
    control.heap_wishes.hoard_bytes = 2 * SIZE;
    is_painting = false;
    keep(FITTING);
    assert_int_equal(n_freed, FITTING - 1);
    assert_int_equal(n_looked_at, FITTING - 1);
    keep(FITTING + 1);
    keep(FITTING + 2);
    assert_int_equal(n_freed, FITTING + 1);
    assert_int_equal(n_looked_at, FITTING); /* the last one of those that were painted */
    control.heap_wishes.hoard_bytes = 0;
    is_painting = true;
}

/* At the end of the program, say. Who was freed twice is the allocator's. */
static void what_is_kept_is_looked_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        keep(i);
    tg_heap_block_table_drop(tg_heap_block_table_find(address_of(1)));
    tg_heap_hoard_check(false);
    assert_int_equal(n_looked_at, 2);
    assert_int_equal(n_freed, 0);
}

static void all_go_where_there_is_no_memory(void **state)
{
    (void)state;
    assert_false(tg_heap_hoard_shrink());
    for (size_t i = 0; i < 3; i++)
        keep(i);
    assert_true(tg_heap_hoard_shrink());
    assert_int_equal(n_freed, 3);
    assert_false(tg_heap_hoard_shrink());
}

/* A block that was freed twice has gone to the allocator already: it is not freed again, and its room is free. */
static void who_was_freed_twice_takes_no_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < FITTING; i++)
        keep(i);
    tg_heap_block_table_drop(tg_heap_block_table_find(address_of(0)));
    keep(FITTING);
    assert_int_equal(n_freed, 0);
    assert_true(tg_heap_hoard_shrink());
    assert_int_equal(n_freed, FITTING);
    for (size_t i = 0; i < FITTING; i++)
        keep(i);
    assert_int_equal(n_freed, FITTING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_oldest_goes_first, set_up),
        cmocka_unit_test_setup(less_is_kept_where_somebody_wishes, set_up),
        cmocka_unit_test_setup(what_is_kept_is_looked_at, set_up),
        cmocka_unit_test_setup(all_go_where_there_is_no_memory, set_up),
        cmocka_unit_test_setup(who_was_freed_twice_takes_no_room, set_up),
    };
    return tg_heap_block_table_prepare() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
