/* What a live session asks of a moment by its own numbers. */
#include "live/source/moment.h"

#include "tests/support/trace_fixture.h"

static void feed(struct tg_moment *moment, uint64_t time_ns, int32_t pid, enum tg_event_kind kind)
{
    const struct tg_event event = {.time_ns = time_ns, .pid = pid, .tid = pid, .kind = kind};
    assert_null(tg_moment_feed(moment, &event));
}

/* The job numbers a process as it begins, and the models learn of it from its first event, which may be on its way. */
static void test_process_that_is_still_to_be_told(void **state)
{
    (void)state;
    struct tg_moment *moment = NULL;
    assert_null(tg_moment_create(&moment));
    tg_moment_drop_numbers(moment);
    assert_null(tg_moment_process(moment, 1));
    feed(moment, 1000, 10, TG_EVENT_PROCESS_START);
    assert_int_equal(tg_moment_process(moment, 1)->pid, 10);
    for (uint32_t dpid = 2; dpid < 100; dpid++) /* also where the list that they come to is longer */
        assert_null(tg_moment_process(moment, dpid));
    feed(moment, 1100, 20, TG_EVENT_PROCESS_START);
    assert_int_equal(tg_moment_process(moment, 2)->pid, 20);
    assert_null(tg_moment_process(moment, 3));
    feed(moment, 1200, 20, TG_EVENT_PROCESS_EXIT);
    assert_int_equal(tg_moment_process(moment, 2)->pid, 20);
    assert_null(tg_moment_process(moment, 0));
    assert_null(tg_moment_process(moment, UINT32_MAX));
    tg_moment_destroy(moment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_process_that_is_still_to_be_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
