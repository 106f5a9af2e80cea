#include "analyzer/page/activity.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct tg_event event_of(enum tg_event_kind kind)
{
    return (struct tg_event){.kind = kind, .pid = 7, .tid = 8};
}

static tg_activity_state after(tg_activity_state state, enum tg_event_kind kind)
{
    struct tg_event event = event_of(kind);
    return tg_activity_after(state, &event);
}

static void what_a_thread_is_inside_of(void **context)
{
    (void)context;
    assert_int_equal(tg_activity_of(0), TG_ACTIVITY_NONE);
    tg_activity_state state = after(0, TG_EVENT_THREAD_START);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_COMPUTING);
    state = after(state, TG_EVENT_OMP_MUTEX_WAIT);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_LOCK);
    state = after(state, TG_EVENT_OMP_MUTEX_ENTER);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_CRITICAL);
    state = after(state, TG_EVENT_MPI_ENTER);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_MPI);
    /* a lock that is left inside of a call made later: the call goes on */
    state = after(state, TG_EVENT_OMP_MUTEX_LEAVE);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_MPI);
    state = after(state, TG_EVENT_MPI_LEAVE);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_COMPUTING);
    assert_int_equal(after(state, TG_EVENT_THREAD_EXIT), 0);
}

static void ends_without_beginnings_change_nothing(void **context)
{
    (void)context;
    tg_activity_state state = after(0, TG_EVENT_THREAD_START);
    assert_true(after(state, TG_EVENT_MPI_LEAVE) == state);
    assert_true(after(state, TG_EVENT_OMP_SYNC_END) == state);
    for (int i = 0; i < 100; i++) /* deeper than is kept */
        state = after(state, TG_EVENT_OMP_SYNC_BEGIN);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_BARRIER);
    for (int i = 0; i < 100; i++)
        state = after(state, TG_EVENT_OMP_SYNC_END);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_COMPUTING);
}

static void stopped_and_held_cover_all_else(void **context)
{
    (void)context;
    tg_activity_state state = after(after(0, TG_EVENT_THREAD_START), TG_EVENT_MPI_ENTER);
    struct tg_event stop = event_of(TG_EVENT_GROUP_STOP);
    stop.group_stop.signal = 19;
    assert_true(tg_activity_is_of_process(&stop));
    tg_activity_state stopped = tg_activity_after_process(state, &stop);
    assert_int_equal(tg_activity_of(stopped), TG_ACTIVITY_STOPPED);
    assert_int_equal(tg_activity_of(after(stopped, TG_EVENT_BARRIER_HELD)), TG_ACTIVITY_HELD);
    stop.group_stop.signal = 0;
    assert_int_equal(tg_activity_of(tg_activity_after_process(stopped, &stop)), TG_ACTIVITY_MPI);
    assert_int_equal(tg_activity_after_process(0, &stop), 0);
}

static void a_worker_between_regions_does_nothing(void **context)
{
    (void)context;
    struct tg_event begin = event_of(TG_EVENT_OMP_IMPLICIT_BEGIN);
    begin.omp_implicit_begin.thread_num = 2;
    tg_activity_state state = tg_activity_after(after(0, TG_EVENT_THREAD_START), &begin);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_COMPUTING);
    /* it waits for the others, until the region ends */
    struct tg_event end = event_of(TG_EVENT_OMP_PARALLEL_END);
    assert_true(tg_activity_is_of_process(&end));
    state = after(state, TG_EVENT_OMP_IMPLICIT_END);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_BARRIER);
    assert_int_equal(tg_activity_of(tg_activity_after(state, &begin)), TG_ACTIVITY_COMPUTING);
    state = tg_activity_after_process(state, &end);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_NONE);
    /* where the join is told, its end is that of the region, or the next one's beginning */
    state = after(state, TG_EVENT_OMP_SYNC_BEGIN);
    assert_int_equal(tg_activity_of(state), TG_ACTIVITY_BARRIER);
    assert_int_equal(tg_activity_of(tg_activity_after_process(state, &end)), TG_ACTIVITY_NONE);
    state = after(tg_activity_after(state, &begin), TG_EVENT_OMP_SYNC_BEGIN);
    assert_int_equal(tg_activity_of(tg_activity_after_process(state, &end)),
                     TG_ACTIVITY_BARRIER); /* in a region that goes on */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_thread_is_inside_of),
        cmocka_unit_test(ends_without_beginnings_change_nothing),
        cmocka_unit_test(stopped_and_held_cover_all_else),
        cmocka_unit_test(a_worker_between_regions_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
