#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/breakpoints/digest_set.h"

/* Digests that share their low word, and so their first slot, in groups of eight. */
static struct tg_digest digest_of(uint64_t i)
{
    return (struct tg_digest){.low = (i / 8) * UINT64_C(0x9e3779b97f4a7c15), .high = i % 8 + 1};
}

static void what_was_added_is_there_and_nothing_else(void **state)
{
    (void)state;
    struct tg_digest_set set = {0};
    assert_false(tg_digest_set_has(&set, digest_of(0)));
    for (uint64_t i = 0; i < 5000; i++) {
        assert_false(tg_digest_set_has(&set, digest_of(i)));
        tg_digest_set_add(&set, digest_of(i));
        assert_true(tg_digest_set_has(&set, digest_of(i)));
    }
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(tg_digest_set_has(&set, digest_of(i)), i < 5000);
    tg_digest_set_deinit(&set);
    assert_false(tg_digest_set_has(&set, digest_of(0)));
}

static void it_is_bounded(void **state)
{
    (void)state;
    struct tg_digest_set set = {0};
    for (uint64_t i = 0; i < TG_DIGEST_SET_MAX + 100; i++)
        tg_digest_set_add(&set, digest_of(i));
    assert_int_equal(set.count, TG_DIGEST_SET_MAX);
    assert_true(tg_digest_set_has(&set, digest_of(TG_DIGEST_SET_MAX - 1)));
    assert_false(tg_digest_set_has(&set, digest_of(TG_DIGEST_SET_MAX)));
    tg_digest_set_deinit(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_there_and_nothing_else),
        cmocka_unit_test(it_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
