#include "recorder/leaks/live_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct tg_live_blocks *live;

static void start(int32_t pid, uint64_t mode)
{
    tg_live_blocks_add(
        live, &(struct tg_event){.kind = TG_EVENT_HEAP_START, .pid = pid, .heap_start = {.mode = mode}});
}

static void give(int32_t pid, uint64_t time_ns, uint64_t address)
{
    tg_live_blocks_add(live,
                       &(struct tg_event){.kind = TG_EVENT_HEAP_ALLOC,
                                          .pid = pid,
                                          .time_ns = time_ns,
                                          .heap_alloc = {.address = address, .size_bytes = 32, .stack = 7}});
}

static void take(int32_t pid, uint64_t time_ns, uint64_t address)
{
    tg_live_blocks_add(live, &(struct tg_event){.kind = TG_EVENT_HEAP_FREE,
                                                .pid = pid,
                                                .time_ns = time_ns,
                                                .heap_free = {.address = address}});
}

/* The sum of the addresses too: which ones they are. */
static size_t count_of(int32_t pid, uint64_t *sum)
{
    struct tg_leak_block *blocks;
    size_t count;
    struct tg_error *error = tg_live_blocks_copy(live, pid, NULL, &blocks, &count);
    *sum = 0;
    if (error != NULL) {
        tg_error_destroy(error);
        return SIZE_MAX;
    }
    for (size_t i = 0; i < count; i++)
        *sum += blocks[i].address;
    free(blocks);
    return count;
}

static size_t inherited_of(int32_t pid)
{
    struct tg_leak_block *blocks;
    size_t count, inherited = 0;
    assert_null(tg_live_blocks_copy(live, pid, NULL, &blocks, &count));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(blocks[i].stack, 7);
        inherited += blocks[i].is_inherited;
    }
    free(blocks);
    return inherited;
}

static int setup(void **state)
{
    (void)state;
    assert_null(tg_live_blocks_create(&live));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tg_live_blocks_destroy(live);
    return 0;
}

/* Asked at any number of changes, while some of them wait. */
static void test_answers_are_up_to_date(void **state)
{
    (void)state;
    uint64_t sum, expected = 0;
    start(5, TG_HEAP_EVENTS);
    for (uint64_t i = 1; i <= 3000; i++) {
        give(5, 2 * i, i * 64);
        expected += i * 64;
        if (i > 7) {
            take(5, 2 * i + 1, (i - 7) * 64);
            expected -= (i - 7) * 64;
        }
        if (i % 97 == 0 || i == 512 || i == 513) {
            assert_int_equal(count_of(5, &sum), 7);
            assert_int_equal(sum, expected);
        }
    }
    start(6, TG_HEAP_EVENTS);
    give(6, 1, 64);
    assert_int_equal(count_of(5, &sum), 7);
    assert_int_equal(count_of(6, &sum), 1);
}

static void test_many_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 200000 };
    uint64_t sum;
    start(5, TG_HEAP_EVENTS);
    for (uint64_t i = 1; i <= BLOCKS; i++)
        give(5, i, i * 32);
    tg_live_blocks_add(live,
                       &(struct tg_event){.kind = TG_EVENT_PROCESS_START,
                                          .pid = 6,
                                          .process_start = {.origin = TG_ORIGIN_FORK, .parent_pid = 5}});
    for (uint64_t i = 1; i <= BLOCKS; i++)
        take(5, BLOCKS + i, i * 32);
    assert_int_equal(count_of(5, &sum), 0);
    assert_int_equal(count_of(6, &sum), BLOCKS);
    assert_int_equal(sum, UINT64_C(32) * BLOCKS * (BLOCKS + 1) / 2);
}

static void test_blocks_come_and_go(void **state)
{
    (void)state;
    uint64_t sum, expected = 0;
    start(5, TG_HEAP_EVENTS);
    for (uint64_t i = 1; i <= 5000; i++)
        give(5, i, i * 48);
    for (uint64_t i = 1; i <= 5000; i++)
        if (i % 3 != 0)
            take(5, 6000 + i, i * 48);
        else
            expected += i * 48;
    assert_int_equal(count_of(5, &sum), 5000 / 3);
    assert_int_equal(sum, expected);
    take(5, 1, 3 * 48); /* of what was there before: it came late */
    take(5, 20000, 12345);
    assert_int_equal(count_of(5, &sum), 5000 / 3);
}

static void test_a_child_has_its_parents(void **state)
{
    (void)state;
    uint64_t sum;
    start(5, TG_HEAP_CHECK);
    give(5, 1, 4096);
    give(5, 1, 8192);
    tg_live_blocks_add(live,
                       &(struct tg_event){.kind = TG_EVENT_PROCESS_START,
                                          .pid = 6,
                                          .process_start = {.origin = TG_ORIGIN_FORK, .parent_pid = 5}});
    take(6, 3, 4096);
    assert_int_equal(count_of(6, &sum), 1);
    assert_int_equal(sum, 8192);
    assert_int_equal(count_of(5, &sum), 2);
    give(6, 4, 4096); /* a block of its own */
    assert_int_equal(inherited_of(6), 1);
    assert_int_equal(inherited_of(5), 0);
    tg_live_blocks_add(live, &(struct tg_event){.kind = TG_EVENT_EXEC, .pid = 6});
    assert_true(count_of(6, &sum) == SIZE_MAX);
    assert_false(tg_live_blocks_wants_search(live, 6, NULL));
}

static void test_samples_are_not_searched(void **state)
{
    (void)state;
    uint64_t sum;
    start(5, TG_HEAP_SAMPLE);
    give(5, 1, 4096);
    assert_false(tg_live_blocks_wants_search(live, 5, NULL));
    assert_true(count_of(5, &sum) == SIZE_MAX);
}

static void look(int32_t pid, uint64_t address, uint64_t block, bool was_freed)
{
    struct tg_red_zone_hit hit = {0};
    bool found = tg_live_blocks_near(live, pid, address, &hit);
    assert_int_equal(found, block != 0);
    assert_true(hit.block == block && hit.was_freed == was_freed);
    if (found)
        assert_true(hit.size_bytes == 32 && hit.allocated_stack == 7);
}

/* Blocks of 32 bytes at the ends of their pages; what has no red zones is not looked at. */
static void test_red_zones(void **state)
{
    (void)state;
    start(5, TG_HEAP_CHECK);
    assert_false(tg_live_blocks_have_red_zones(live, 5));
    const struct tg_event zones = {
        .kind = TG_EVENT_HEAP_START,
        .pid = 5,
        .heap_start = {.mode = TG_HEAP_CHECK, .red_zone_start = 0x100000, .red_zone_bytes = 0x100000}};
    tg_live_blocks_add(live, &zones);
    assert_true(tg_live_blocks_have_red_zones(live, 5));
    give(5, 1, 0x101fe0); /* pages 101, 103 and 107 */
    give(5, 2, 0x103fe0);
    give(5, 3, 0x107fe0);
    give(5, 4, 0x90000);
    take(5, 5, 0x103fe0);
    take(5, 6, 0x90000);
    look(5, 0x102000, 0x101fe0, false); /* right behind the first */
    look(5, 0x102fff, 0x103fe0, true);  /* right before the second, which is gone */
    look(5, 0x103000, 0x103fe0, true);  /* on its pages */
    look(5, 0x106fff, 0x107fe0, false); /* before the third */
    look(5, 0x109001, 0, false);        /* far from all */
    look(5, 0x90000, 0, false);
    look(6, 0x102000, 0, false);
    give(5, 7, 0x103fd0); /* the pages have a block again */
    tg_live_blocks_add(live,
                       &(struct tg_event){.kind = TG_EVENT_PROCESS_START,
                                          .pid = 6,
                                          .process_start = {.origin = TG_ORIGIN_FORK, .parent_pid = 5}});
    take(6, 8, 0x103fd0);
    look(5, 0x104000, 0x103fd0, false);
    look(6, 0x104000, 0x103fd0, true);
}

/* A free may be among what was lost, and a block that seems live is none then. Other losses are none of events of the
 * heap; and what another process lost is its own. */
static void test_after_a_loss_nothing_is_known(void **state)
{
    (void)state;
    uint64_t sum;
    start(1, TG_HEAP_EVENTS);
    start(2, TG_HEAP_EVENTS);
    give(1, 10, 0x1000);
    give(2, 10, 0x2000);
    tg_live_blocks_add(
        live, &(struct tg_event){.kind = TG_EVENT_LOSS, .pid = 1, .loss = {.source = TG_LOSS_TARGET}});
    assert_int_equal(count_of(1, &sum), 1);
    tg_live_blocks_add(live,
                       &(struct tg_event){.kind = TG_EVENT_LOSS, .pid = 1, .loss = {.source = TG_LOSS_RING}});
    assert_int_equal(count_of(1, &sum), SIZE_MAX);
    give(1, 20, 0x3000);
    assert_int_equal(count_of(1, &sum), SIZE_MAX);
    assert_int_equal(count_of(2, &sum), 1);
}

static struct tg_live_ahead ahead;

static void later(enum tg_event_kind kind, uint64_t time_ns, uint64_t address)
{
    struct tg_event event = {.kind = kind, .pid = 5, .time_ns = time_ns};
    if (kind == TG_EVENT_HEAP_ALLOC)
        event.heap_alloc = (struct tg_event_heap_alloc){.address = address, .size_bytes = 64, .stack = 8};
    else if (kind == TG_EVENT_HEAP_RESIZE)
        event.heap_resize = (struct tg_event_heap_resize){.address = address, .size_bytes = 64, .stack = 8};
    else if (kind == TG_EVENT_HEAP_FREE)
        event.heap_free.address = address;
    else if (kind == TG_EVENT_LOSS)
        event.loss.source = TG_LOSS_RING;
    tg_live_ahead_add(&ahead, &event);
}

/* The addresses of the blocks in kilobytes, in order of their size and these; -1: it is not known. */
static void expect_with_ahead(pid_t pid, const char *expected)
{
    struct tg_leak_block *blocks;
    size_t count;
    char text[200] = "";
    struct tg_error *error = tg_live_blocks_copy(live, pid, &ahead, &blocks, &count);
    for (uint64_t size = 32; error == NULL && size <= 64; size += 32)
        for (uint64_t address = 0x1000; address < 0x10000; address += 0x1000)
            for (size_t i = 0; i < count; i++)
                if (blocks[i].address == address && blocks[i].size_bytes == size) {
                    assert_int_equal(blocks[i].stack, size == 32 ? 7 : 8);
                    snprintf(text + strlen(text), sizeof text - strlen(text), " %x:%u",
                             (unsigned)address / 0x1000, (unsigned)size);
                }
    assert_string_equal(error != NULL ? tg_error_message(error) : text, expected);
    tg_error_destroy(error);
    free(blocks);
}

static void test_what_is_not_added_yet_counts(void **state)
{
    (void)state;
    expect_with_ahead(5, "its heap is not observed");
    start(5, TG_HEAP_EVENTS);
    for (uint64_t i = 1; i <= 5; i++)
        give(5, 10 * i, i * 0x1000);
    start(6, TG_HEAP_EVENTS);
    give(6, 10, 0xf000);
    expect_with_ahead(5, " 1:32 2:32 3:32 4:32 5:32");
    later(TG_EVENT_HEAP_FREE, 100, 0x1000);
    later(TG_EVENT_HEAP_FREE, 19, 0x2000); /* a block that was there before */
    later(TG_EVENT_HEAP_RESIZE, 101, 0x3000);
    later(TG_EVENT_HEAP_ALLOC, 102, 0x6000);
    later(TG_EVENT_HEAP_ALLOC, 105, 0x7000); /* another thread freed one that was there before, ... */
    later(TG_EVENT_HEAP_FREE, 104, 0x7000);
    later(TG_EVENT_HEAP_FREE, 104, 0x4000); /* ... and is the last to have had this place */
    later(TG_EVENT_HEAP_ALLOC, 103, 0x4000);
    later(TG_EVENT_HEAP_FREE, 110, 0x8000);
    expect_with_ahead(5, " 2:32 5:32 3:64 6:64 7:64");
    take(5, 100, 0x1000); /* some of it is added meanwhile */
    give(5, 102, 0x6000);
    expect_with_ahead(5, " 2:32 5:32 3:64 6:64 7:64");
    assert_true(tg_live_blocks_wants_search(live, 5, &ahead));
    later(TG_EVENT_HEAP_START, 1000, 0); /* what was there is another program's */
    expect_with_ahead(5, " 3:64 6:64 7:64");
    expect_with_ahead(9, " 3:64 6:64 7:64");
    later(TG_EVENT_LOSS, 1000, 0);
    expect_with_ahead(5, "events of its heap were lost");
    tg_live_ahead_deinit(&ahead);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answers_are_up_to_date, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_blocks_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_child_has_its_parents, setup, teardown),
        cmocka_unit_test_setup_teardown(test_samples_are_not_searched, setup, teardown),
        cmocka_unit_test_setup_teardown(test_red_zones, setup, teardown),
        cmocka_unit_test_setup_teardown(test_after_a_loss_nothing_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_added_yet_counts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
