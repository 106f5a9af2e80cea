#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/rings/tick_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct tg_tick_clock *make_clock(enum tg_agent_clock source)
{
    struct tg_tick_clock *clock = NULL;
    assert_null(tg_tick_clock_create(source, &clock));
    return clock;
}

static bool add(struct tg_tick_clock *clock, uint64_t ticks, uint64_t time_ns)
{
    return tg_tick_clock_add(clock, (struct tg_tick_pair){.ticks = ticks, .time_ns = time_ns});
}

static void times_lie_on_lines_between_pairs(void **state)
{
    (void)state;
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    assert_int_equal(tg_tick_clock_ticks_per_second(clock), 0);
    assert_true(add(clock, 1000, 500));
    assert_int_equal(tg_tick_clock_time(clock, 77), 500);
    assert_true(add(clock, 3000, 1500));
    assert_true(add(clock, 5000, 3500)); /* twice as fast */
    assert_int_equal(tg_tick_clock_time(clock, 1000), 500);
    assert_int_equal(tg_tick_clock_time(clock, 2000), 1000);
    assert_int_equal(tg_tick_clock_time(clock, 3000), 1500);
    assert_int_equal(tg_tick_clock_time(clock, 4000), 2500);
    assert_int_equal(tg_tick_clock_time(clock, 5000), 3500);
    /* outside, on the line of the whole: 3/4 ns a tick */
    assert_int_equal(tg_tick_clock_time(clock, 9000), 6500);
    assert_int_equal(tg_tick_clock_time(clock, 800), 350);
    assert_int_equal(tg_tick_clock_time(clock, 0), 0);
    assert_int_equal(tg_tick_clock_ticks_per_second(clock), 1333333333);
    assert_int_equal(tg_tick_clock_first(clock).ticks, 1000);
    assert_int_equal(tg_tick_clock_last(clock).time_ns, 3500);
    tg_tick_clock_destroy(clock);
}

static void pairs_that_go_back_or_stand_still_are_not_taken(void **state)
{
    (void)state;
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    assert_true(add(clock, 1000, 1000));
    assert_false(add(clock, 1000, 1001));
    assert_false(add(clock, 1001, 1000));
    assert_false(add(clock, 999, 2000));
    assert_false(add(clock, 1001, UINT64_C(1) << 60)); /* no clock is as slow */
    assert_true(add(clock, 1001, 1001));
    assert_true(add(clock, UINT64_MAX, UINT64_C(1) << 62));
    assert_int_equal(tg_tick_clock_time(clock, UINT64_MAX), UINT64_C(1) << 62);
    tg_tick_clock_destroy(clock);
}

static void times_never_fall_however_pairs_are_bent(void **state)
{
    (void)state;
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    uint64_t ticks = 123456789, time_ns = 987654321, before = 0;
    srand(7);
    assert_true(add(clock, ticks, time_ns));
    for (int i = 0; i < 2000; i++) {
        ticks += 1 + (uint64_t)rand() % 3000;
        time_ns += 1 + (uint64_t)rand() % 1000;
        assert_true(add(clock, ticks, time_ns));
    }
    for (uint64_t t = 123456789; t <= ticks; t += 3) {
        uint64_t now = tg_tick_clock_time(clock, t);
        assert_true(now >= before);
        before = now;
    }
    assert_true(before <= time_ns);
    tg_tick_clock_destroy(clock);
}

static void ticks_are_the_inverse(void **state)
{
    (void)state;
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    add(clock, 1000, 500);
    add(clock, 3000, 1500);
    add(clock, 9000, 2500);
    for (uint64_t time_ns = 500; time_ns <= 2500; time_ns += 7) {
        uint64_t ticks = tg_tick_clock_ticks(clock, time_ns);
        assert_true(tg_tick_clock_time(clock, ticks) >= time_ns);
        assert_true(ticks == 1000 || tg_tick_clock_time(clock, ticks - 1) < time_ns);
    }
    assert_int_equal(tg_tick_clock_ticks(clock, 0), 1000);
    assert_int_equal(tg_tick_clock_ticks(clock, UINT64_MAX), 9000);
    tg_tick_clock_destroy(clock);
}

static void old_pairs_are_thinned_out_and_the_first_one_stays(void **state)
{
    (void)state;
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    for (uint64_t i = 0; i < 100000; i++)
        assert_true(add(clock, 1000 + i * 30, 500 + i * 10));
    assert_int_equal(tg_tick_clock_first(clock).ticks, 1000);
    for (uint64_t i = 0; i < 100000; i += 333) {
        uint64_t time_ns = tg_tick_clock_time(clock, 1000 + i * 30);
        assert_in_range(time_ns, 500 + i * 10 - (i > 0), 500 + i * 10);
    }
    tg_tick_clock_destroy(clock);
}

static void monotonic_ticks_are_times(void **state)
{
    (void)state;
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_MONOTONIC);
    assert_int_equal(tg_tick_clock_time(clock, 12345), 12345);
    assert_int_equal(tg_tick_clock_ticks(clock, 12345), 12345);
    assert_int_equal(tg_tick_clock_ticks_per_second(clock), 1000000000);
    struct tg_tick_pair pair = tg_tick_clock_take(clock);
    assert_int_equal(pair.ticks, pair.time_ns);
    tg_tick_clock_destroy(clock);
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* On this machine, with its clock: what is between two readings of the one is between them by the other. */
static void this_machines_clock_is_converted(void **state)
{
    (void)state;
    if (tg_tick_clock_best() != TG_AGENT_CLOCK_TSC)
        skip();
    enum { MOMENTS = 200 };
    uint64_t before[MOMENTS], ticks[MOMENTS], after[MOMENTS];
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    assert_true(tg_tick_clock_add(clock, tg_tick_clock_take(clock)));
    for (int i = 0; i < MOMENTS; i++) {
        before[i] = monotonic_ns();
        ticks[i] = tg_tick_clock_now(clock);
        after[i] = monotonic_ns();
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        if (i % 20 == 0)
            assert_true(tg_tick_clock_add(clock, tg_tick_clock_take(clock)));
    }
    assert_true(tg_tick_clock_add(clock, tg_tick_clock_take(clock)));
    enum { SLACK_NS = 20000 }; /* a pair that was taken in bad moments of a busy virtual machine */
    for (int i = 0; i < MOMENTS; i++)
        assert_in_range(tg_tick_clock_time(clock, ticks[i]), before[i] - SLACK_NS, after[i] + SLACK_NS);
    tg_tick_clock_destroy(clock);
}

static void pairs_survive_in_a_file(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    for (uint64_t i = 0; i < 1000; i++)
        tg_tick_clock_save(fileno(file), i,
                           (struct tg_tick_pair){.ticks = 1000 + 2 * i, .time_ns = 5000 + i});
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    assert_true(tg_tick_clock_load(clock, fileno(file)));
    assert_int_equal(tg_tick_clock_first(clock).ticks, 1000);
    assert_int_equal(tg_tick_clock_last(clock).ticks, 1000 + 2 * 999);
    assert_int_equal(tg_tick_clock_time(clock, 1000 + 2 * 500), 5500);
    tg_tick_clock_destroy(clock);

    assert_int_equal(pwrite(fileno(file), "boot of another day", 19, 0), 19);
    clock = make_clock(TG_AGENT_CLOCK_TSC);
    assert_false(tg_tick_clock_load(clock, fileno(file)));
    assert_int_equal(tg_tick_clock_first(clock).ticks, 1000);
    tg_tick_clock_destroy(clock);
    fclose(file);
}

static void nonsense_in_the_file_does_no_harm(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    fputs("5 5\n-1 -1\n99999999999999999999999999 3\nwords\n7 18446744073709551615\n9 9\n", file);
    for (int i = 0; i < 5000; i++)
        fputc(i * 37 % 256, file);
    fflush(file);
    struct tg_tick_clock *clock = make_clock(TG_AGENT_CLOCK_TSC);
    assert_false(tg_tick_clock_load(clock, fileno(file)));
    tg_tick_clock_time(clock, 6);
    tg_tick_clock_ticks(clock, 6);
    tg_tick_clock_destroy(clock);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_lie_on_lines_between_pairs),
        cmocka_unit_test(pairs_that_go_back_or_stand_still_are_not_taken),
        cmocka_unit_test(times_never_fall_however_pairs_are_bent),
        cmocka_unit_test(ticks_are_the_inverse),
        cmocka_unit_test(old_pairs_are_thinned_out_and_the_first_one_stays),
        cmocka_unit_test(monotonic_ticks_are_times),
        cmocka_unit_test(this_machines_clock_is_converted),
        cmocka_unit_test(pairs_survive_in_a_file),
        cmocka_unit_test(nonsense_in_the_file_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
