#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/process/memory_kills.h"

#include <unistd.h>

static void a_counter_is_the_number_of_its_line(void **state)
{
    (void)state;
    assert_int_equal(tg_memory_kills_number("oom 7\noom_kill 3\noom_group_kill 9\n", "oom_kill"), 3);
    assert_int_equal(tg_memory_kills_number("oom_kill_disable 0\nunder_oom 0\noom_kill 12", "oom_kill"), 12);
    static const char *const none[] = {"",
                                       "oom_kill",
                                       "oom_kill \n",
                                       "oom_kill x\n",
                                       "oom_kill -1\n",
                                       "not oom_kill 3\n",
                                       "oom_kill 99999999999999999999\n"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(tg_memory_kills_number(none[i], "oom_kill"), -1);
}

static void the_log_names_its_victims(void **state)
{
    (void)state;
    assert_int_equal(
        tg_memory_kills_victim("3,1201,88,-;Out of memory: Killed process 4711 (a.out) total-vm:9kB"), 4711);
    assert_int_equal(tg_memory_kills_victim("3,1,8,-;Memory cgroup out of memory: Killed process 12 (pid=7)"),
                     12);
    assert_int_equal(
        tg_memory_kills_victim("6,1200,88,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg=/a,"
                               "task=x,pid=99,uid=0,pid=4712,uid=1000"),
        4712); /* the program's name is its own choice */
    static const char *const others[] = {"",
                                         "6,1,2,-;",
                                         "6,1,2,-;oom-kill:",
                                         "6,1,2,-;oom-kill:task=a,pid=x",
                                         "6,1,2,-;usb 1-1: Killed process 5 (a)",
                                         "Killed process 5 (a)",
                                         "6,1,2,-;oom-kill:task=a,pid=-4"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(tg_memory_kills_victim(others[i]), 0);
}

static void a_log_that_names_all_victims_rules_others_out(void **state)
{
    (void)state;
    const struct tg_memory_kill_counts two = {.machine = 2, .group = 1},
                                       unknown = {.machine = -1, .group = 1};
    struct tg_memory_kills kills = {.has_log = true, .n_victims = 2};
    assert_true(tg_memory_kills_are_named(&kills, two));
    assert_false(tg_memory_kills_are_named(&kills, unknown));
    kills.n_victims = 1;
    assert_false(tg_memory_kills_are_named(&kills, two));
    kills.n_victims = TG_MEMORY_KILLS_VICTIMS + 1; /* not all are kept */
    assert_false(tg_memory_kills_are_named(&kills, two));
    kills = (struct tg_memory_kills){.has_log = true, .log_has_gaps = true, .n_victims = 2};
    assert_false(tg_memory_kills_are_named(&kills, two));
    kills = (struct tg_memory_kills){.n_victims = 2};
    assert_false(tg_memory_kills_are_named(&kills, two));
}

static void nothing_was_killed_for_memory_here(void **state)
{
    (void)state;
    struct tg_memory_kills kills;
    tg_memory_kills_begin(&kills);
    const struct tg_memory_kill_counts counts = tg_memory_kills_count(&kills);
    assert_true(counts.machine >= -1);
    assert_true(counts.group <= counts.machine || counts.machine < 0);
    assert_false(tg_memory_kills_names(&kills, getpid()));
    tg_memory_kills_end(&kills);
    tg_memory_kills_end(&kills);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_is_the_number_of_its_line),
        cmocka_unit_test(the_log_names_its_victims),
        cmocka_unit_test(a_log_that_names_all_victims_rules_others_out),
        cmocka_unit_test(nothing_was_killed_for_memory_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
