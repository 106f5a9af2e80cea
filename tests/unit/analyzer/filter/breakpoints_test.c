#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/analyzer/filter/runs.h"

#include <stdlib.h>

static void breakpoints_are_in_time_late_or_never(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_break(&script, 1, "wanted");
    script_break(&script, 2, "nowhere");
    script_load(&script, 1000, 10, "/p/libwanted.so"); /* late in fast: 500 */
    script_plant(&script, 1000, 10, 1, 0x100, "/p/libwanted.so");
    script_add(&script, 1500, 10, TG_EVENT_SIGNAL);
    script_load(&script, 2000, 20, "/p/libwanted.so"); /* unloaded in between: never in fast */
    script_plant(&script, 2000, 20, 1, 0x100, "/p/libwanted.so");
    script_unload(&script, 2500, 20, "/p/libwanted.so");
    script_load(&script, 3000, 30, "/p/libwanted.so"); /* until the exit: never in fast */
    script_plant(&script, 3000, 30, 1, 0x100, "/p/libwanted.so");
    script_exit(&script, 3500, 30);
    script_load(&script, 4000, 40, "/p/libwanted.so"); /* late in fast: 700 */
    script_plant(&script, 4000, 40, 1, 0x100, "/p/libwanted.so");
    script_add(&script, 4700, 40, TG_EVENT_THREAD_START);
    script_plant(&script, 5000, 40, 1, 0x5000, "/bin/program"); /* no library: in time everywhere */
    run_script(&run, &script, "*/libwanted.so");

    assert_int_equal(run.survey.goals.items[0].state, TG_GOAL_RESOLVED);
    assert_int_equal(run.survey.goals.items[1].state, TG_GOAL_NOWHERE);
    for (size_t lane = SLOW; lane <= MEDIUM; lane++) {
        assert_int_equal(outcome(&run, lane)->planting.in_time, 5);
        assert_int_equal(outcome(&run, lane)->planting.late, 0);
        assert_int_equal(outcome(&run, lane)->planting.never, 0);
    }
    const struct tg_filter_outcome *fast = outcome(&run, FAST);
    assert_int_equal(fast->planting.in_time, 1);
    assert_int_equal(fast->planting.late, 2);
    assert_int_equal(fast->planting.never, 2);
    assert_int_equal(fast->planting.worst_window_ns, 700);
    assert_int_equal(fast->goals[0].late, 2);
    assert_int_equal(fast->goals[1].late + fast->goals[1].never + fast->goals[1].in_time, 0);
    end_run(&run);
}

static void a_hit_stops_only_where_the_breakpoint_is_planted(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_break(&script, 1, "wanted");
    script_load(&script, 1000, 10, "/p/libwanted.so");
    script_plant(&script, 1000, 10, 1, 0x100, "/p/libwanted.so");
    script_load(&script, 1100, 10, "/p/libx.so");
    script_hit(&script, 1200, 10, 1, 0x100); /* fast runs past it: nothing is handled there */
    script_add(&script, 1300, 10, TG_EVENT_SIGNAL);
    script_load(&script, 1400, 10, "/p/liby.so");
    script_hit(&script, 1500, 10, 1, 0x100); /* now it is planted in fast as well */
    run_script(&run, &script, "*/libwanted.so");
    assert_string_equal(run.said[MEDIUM], "reported[/p/libwanted.so] deferred[/p/libx.so] breakpoint(1,1) "
                                          "deferred[/p/liby.so] breakpoint(1,1) ");
    assert_string_equal(run.said[FAST], "not_stopped[/p/libwanted.so /p/libx.so] signal(1,2) "
                                        "not_stopped[/p/liby.so] breakpoint(1,1) ");
    end_run(&run);
}

/* Deferred, and handled late together with a library that is reported: only a lane that has it handled by then
 * stops at its breakpoint. */
static void a_breakpoint_planted_late_is_no_stop_where_it_would_not_be_planted_yet(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_settings(&script, TG_FILTER_MEDIUM, "*/libreported.so");
    script_break(&script, 1, "wanted");
    script_load(&script, 1000, 10, "/p/libwanted.so")->library_load.handle_ns = 0;
    script_load(&script, 2000, 10, "/p/libreported.so");
    script_handled(&script, 2000, 10, TG_TRIGGER_REPORTED_EVENT, 1);
    script_plant(&script, 2000, 10, 1, 0x100, "/p/libwanted.so")->breakpoint_planted.late = true;
    script_hit(&script, 3000, 10, 1, 0x100);
    script_add(&script, 9000, 10, TG_EVENT_SIGNAL);
    run_script(&run, &script, "*/libreported.so");
    assert_string_equal(run.said[FAST], "not_stopped[/p/libwanted.so /p/libreported.so] signal(1,2) ");
    assert_int_equal(outcome(&run, FAST)->planting.worst_window_ns, 8000);
    assert_int_equal(outcome(&run, FAST)->missed_hits, 1);
    assert_int_equal(outcome(&run, MEDIUM)->missed_hits, 0);
    assert_int_equal(outcome(&run, SLOW)->hits, 1);
    end_run(&run);
}

/* A library that comes back to its place unseen has no breakpoint in fast mode, so there is no stop at it. */
static void a_breakpoint_that_is_never_planted_is_never_hit(void **state)
{
    (void)state;
    static struct script script;
    struct run run;
    script_break(&script, 1, "wanted");
    script_load(&script, 1000, 10, "/p/liba.so");
    script_plant(&script, 1000, 10, 1, 0x100, "/p/liba.so");
    script_add(&script, 2000, 10, TG_EVENT_SIGNAL);
    script_unload(&script, 3000, 10, "/p/liba.so");
    script_load(&script, 4000, 10, "/p/liba.so");
    script_plant(&script, 4000, 10, 1, 0x100, "/p/liba.so");
    script_load(&script, 4500, 10, "/p/libb.so");
    script_hit(&script, 5000, 10, 1, 0x100);
    script_start(&script, 5500, 11, 10); /* a child has as little of it */
    script_hit(&script, 6000, 11, 1, 0x100);
    run_script(&run, &script, "*/liba*");
    assert_string_equal(run.said[FAST],
                        "not_stopped[/p/liba.so] signal(1,1) not_stopped[/p/libb.so] fork(1,1) ");
    assert_int_equal(outcome(&run, FAST)->planting.never, 1);
    assert_int_equal(outcome(&run, FAST)->missed_hits, 2);
    end_run(&run);
}

/* Goals of which a recording cannot tell where they are. */
static void a_fast_recording_does_not_say_that_a_breakpoint_is_nowhere(void **state)
{
    (void)state;
    static const struct {
        enum tg_filter_mode mode;
        enum tg_library_found found;
        uint64_t handle_ns;
        enum tg_goal_state expected;
        uint64_t perhaps;
    } cases[] = {
        {TG_FILTER_SLOW, TG_FOUND_LOADER, 1, TG_GOAL_NOWHERE, 0},
        {TG_FILTER_MEDIUM, TG_FOUND_LOADER, 1, TG_GOAL_NOWHERE, 0},
        {TG_FILTER_MEDIUM, TG_FOUND_LOADER, 0, TG_GOAL_UNKNOWN, 1}, /* deferred and never looked into */
        {TG_FILTER_FAST, TG_FOUND_CATCH_UP, 0, TG_GOAL_UNKNOWN, 1},
        {TG_FILTER_FAST, TG_FOUND_CATCH_UP, 1, TG_GOAL_UNKNOWN, 0}, /* closed before any stop, perhaps */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script *script = calloc(1, sizeof *script);
        struct run run;
        script_settings(script, cases[i].mode, cases[i].mode == TG_FILTER_MEDIUM ? "*/x" : "");
        script_break(script, 1, "wanted");
        struct tg_event *load = script_load(script, 1000, 10, "/p/liba.so");
        load->library_load.found = cases[i].found;
        load->library_load.handle_ns = cases[i].handle_ns;
        run_script(&run, script, "*/x");
        assert_int_equal(run.survey.goals.items[0].state, cases[i].expected);
        assert_int_equal(run.survey.goals.items[0].perhaps, cases[i].perhaps);
        assert_int_equal(outcome(&run, MEDIUM)->planting.unknown, cases[i].perhaps);
        assert_int_equal(outcome(&run, MEDIUM)->planting.never, 0);
        end_run(&run);
        free(script);
    }
}

static void the_same_place_is_one_breakpoint_however_it_is_written(void **state)
{
    (void)state;
    struct tg_break_goals goals = {0};
    const struct tg_event_breakpoint_spec recorded = {.breakpoint = 1, .text = "lib.so`f.c#3"};
    assert_null(tg_break_goals_want(&goals, "lib.so`f.c:3"));
    assert_null(tg_break_goals_record(&goals, &recorded));
    assert_null(tg_break_goals_want(&goals, "lib.so`f.c:4"));
    assert_int_equal(goals.count, 2);
    assert_true(goals.items[0].recorded);
    tg_break_goals_deinit(&goals);
}

static void find_in_files(const char *path, const char *build_id, const struct tg_break_spec *const *specs,
                          size_t n, enum tg_break_presence *found)
{
    for (size_t i = 0; i < n; i++)
        found[i] = strcmp(build_id, "aa") != 0            ? TG_BREAK_UNKNOWN
                   : strstr(path, specs[i]->name) != NULL ? TG_BREAK_PRESENT
                                                          : TG_BREAK_ABSENT;
}

/* A function is in the library NAME of which its name is a part; only those with the build-id "aa" are here. */
static void breakpoints_are_looked_up_in_files(void **state)
{
    (void)state;
    static struct script script;
    struct tg_filter_survey survey;
    struct tg_event *load = script_load(&script, 1000, 10, "/p/libone.so /p/libtwo.so /p/libother.so");
    struct tg_library *libraries = (struct tg_library *)load->library_load.libraries.items;
    libraries[0].build_id = libraries[1].build_id = "aa";
    libraries[2].build_id = "bb";
    assert_null(tg_filter_survey_init(&survey));
    static const char *const wanted[] = {"one", "none", "libone.so`two", "libother.so`two", "libtwo.so`two"};
    static const struct {
        enum tg_goal_state state;
        uint64_t places, perhaps;
    } expected[] = {
        {TG_GOAL_RESOLVED, 1, 1},   {TG_GOAL_UNKNOWN, 0, 1},  {TG_GOAL_NOWHERE, 0, 0},
        {TG_GOAL_BY_LIBRARY, 1, 0}, {TG_GOAL_RESOLVED, 1, 0},
    };
    for (size_t i = 0; i < 5; i++)
        assert_null(tg_break_goals_want(&survey.goals, wanted[i]));
    assert_null(tg_filter_survey_add(&survey, load));
    assert_null(tg_filter_survey_finish(&survey, NULL, find_in_files));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(survey.goals.items[i].state, expected[i].state);
        assert_int_equal(survey.goals.items[i].places, expected[i].places);
        assert_int_equal(survey.goals.items[i].perhaps, expected[i].perhaps);
    }
    tg_filter_survey_deinit(&survey);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakpoints_are_in_time_late_or_never),
        cmocka_unit_test(a_hit_stops_only_where_the_breakpoint_is_planted),
        cmocka_unit_test(a_breakpoint_planted_late_is_no_stop_where_it_would_not_be_planted_yet),
        cmocka_unit_test(a_breakpoint_that_is_never_planted_is_never_hit),
        cmocka_unit_test(a_fast_recording_does_not_say_that_a_breakpoint_is_nowhere),
        cmocka_unit_test(the_same_place_is_one_breakpoint_however_it_is_written),
        cmocka_unit_test(breakpoints_are_looked_up_in_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
