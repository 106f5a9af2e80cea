#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyzer/filter/pending_log.h"

static void append(struct tg_pending_log *log, uint64_t link_map, uint32_t library)
{
    assert_null(tg_pending_log_append(
        log, &(struct tg_pending){.link_map = link_map, .library = library, .lanes = 1}));
}

static void the_newest_of_a_link_map_is_found(void **state)
{
    (void)state;
    struct tg_pending_log log = {0};
    assert_null(tg_pending_log_find(&log, 0x1000));
    append(&log, 0x1000, 1);
    append(&log, 0x2000, 2);
    append(&log, 0x1000, 3); /* unloaded and loaded again at the same place */
    assert_int_equal(tg_pending_log_find(&log, 0x1000)->library, 3);
    assert_int_equal(tg_pending_log_find(&log, 0x2000)->library, 2);
    assert_null(tg_pending_log_find(&log, 0x3000));
    tg_pending_log_deinit(&log);
}

static void many_are_found_and_forgotten(void **state)
{
    (void)state;
    struct tg_pending_log log = {0};
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 20000; i++)
            append(&log, 0x7f0000000000 + i * UINT64_C(0x4b0), i);
        assert_int_equal(log.count, 20000);
        for (uint32_t i = 0; i < 20000; i++)
            assert_int_equal(tg_pending_log_find(&log, 0x7f0000000000 + i * UINT64_C(0x4b0))->library, i);
        uint64_t epoch = log.epoch;
        tg_pending_log_clear(&log);
        assert_true(log.epoch > epoch);
        assert_null(tg_pending_log_find(&log, 0x7f0000000000));
        assert_true(log.capacity <= 4096); /* large storage was given back */
    }
    tg_pending_log_deinit(&log);
}

static void clearing_a_small_one_forgets_too(void **state)
{
    (void)state;
    struct tg_pending_log log = {0};
    append(&log, 0x10, 1);
    tg_pending_log_clear(&log);
    assert_null(tg_pending_log_find(&log, 0x10));
    append(&log, 0x20, 2);
    assert_null(tg_pending_log_find(&log, 0x10));
    assert_int_equal(tg_pending_log_find(&log, 0x20)->library, 2);
    tg_pending_log_deinit(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_of_a_link_map_is_found),
        cmocka_unit_test(many_are_found_and_forgotten),
        cmocka_unit_test(clearing_a_small_one_forgets_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
