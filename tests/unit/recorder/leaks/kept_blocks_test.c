/* The blocks that this very process keeps, for all that its tables say. */
#include "recorder/leaks/kept_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 5000 };

static struct tg_heap_hoard_ring ring;
static unsigned char block[SIZE];
static struct tg_kept_blocks kept;
static struct tg_event_heap_error fault;

static struct tg_heap_block_entry entry_of(uint64_t size)
{
    return (struct tg_heap_block_entry){
        .block = (uintptr_t)block, .size = size, .state = TG_HEAP_BLOCK_HOARDED, .is_painted = true};
}

static bool has_changed(uint64_t size, uint64_t kept_size)
{
    const struct tg_heap_block_entry entry = entry_of(size);
    ring.first = TG_HEAP_HOARD_BLOCKS - 1;
    ring.count = 2;
    ring.blocks[TG_HEAP_HOARD_BLOCKS - 1] = (struct tg_heap_hoarded){UINTPTR_MAX, 1};
    ring.blocks[0] = (struct tg_heap_hoarded){(uintptr_t)block, kept_size};
    assert_true(tg_kept_blocks_read(&kept, getpid(), (uintptr_t)&ring));
    bool changed = tg_kept_blocks_have_changed(&kept, &entry, &fault);
    tg_kept_blocks_deinit(&kept);
    return changed;
}

static void test_change(void **state)
{
    (void)state;
    memset(block, TG_HEAP_PAINT_FREED, sizeof block);
    assert_false(has_changed(SIZE, SIZE));
    block[4097] = block[4099] = 0;
    assert_true(has_changed(SIZE, SIZE));
    assert_int_equal(fault.error, TG_HEAP_PAINT_CORRUPTION);
    assert_int_equal(fault.offset, 4097);
    assert_int_equal(fault.wrong_bytes, 2);
    assert_int_equal(fault.address, (uintptr_t)block + 4097);
}

static void test_scribbled(void **state)
{
    (void)state;
    memset(block, 0, sizeof block);
    static const uint64_t sizes[] = {0, SIZE + 1, TG_HEAP_HOARDED_BYTES + 1, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_false(has_changed(sizes[i], SIZE));
        if (sizes[i] == 0 || sizes[i] > TG_HEAP_HOARDED_BYTES)
            assert_false(has_changed(sizes[i], sizes[i]));
    }
    ring.first = TG_HEAP_HOARD_BLOCKS;
    assert_false(tg_kept_blocks_read(&kept, getpid(), (uintptr_t)&ring));
    tg_kept_blocks_deinit(&kept);
    assert_false(tg_kept_blocks_read(&kept, getpid(), 8));
    tg_kept_blocks_deinit(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_change), cmocka_unit_test(test_scribbled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
