#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <tcl.h>

#include "analyzer/job/action_points.h"

static int set_up(void **state)
{
    struct tg_action_points *points = NULL;
    assert_null(tg_action_points_create(&points));
    *state = points;
    return 0;
}

static int tear_down(void **state)
{
    tg_action_points_destroy(*state);
    return 0;
}

static uint32_t add(struct tg_action_points *points, const struct tg_action_point *point)
{
    uint32_t id = 0;
    assert_null(tg_action_points_add(points, point, &id));
    return id;
}

static void assert_fails(struct tg_error *error, enum tg_error_code code)
{
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), code);
    tg_error_destroy(error);
}

static const struct tg_action_point line_573 = {.kind = TG_ACTION_BREAK,
                                                .enabled = true,
                                                .shared = true,
                                                .group = 3,
                                                .address = 0x1000,
                                                .location = "573",
                                                .place = "fork_loop.cxx#573",
                                                .focus = "g1.<",
                                                .stop_when_hit = TG_BARRIER_STOP_GROUP};

/* `dbarrier 580 -stop_when_hit thread` in the focus d1.<, of the documentation. */
static const struct tg_action_point process_barrier = {.kind = TG_ACTION_BARRIER,
                                                       .enabled = true,
                                                       .shared = true,
                                                       .group = 3,
                                                       .address = 0x120005598,
                                                       .location = "580",
                                                       .place = "../regress/fork_loop.cxx#580",
                                                       .focus = "d1.<",
                                                       .stop_when_hit = TG_BARRIER_STOP_NONE,
                                                       .stop_when_done = TG_BARRIER_STOP_NONE,
                                                       .satisfaction = "group 1"};

/* `baw 580 -stop_when_hit thread`, of the documentation. */
static const struct tg_action_point thread_barrier = {.kind = TG_ACTION_BARRIER,
                                                      .enabled = true,
                                                      .process = 1,
                                                      .address = 0x120005598,
                                                      .location = "580",
                                                      .place = "../regress/fork_loop.cxx#580",
                                                      .focus = "pW1.<",
                                                      .of_threads = true,
                                                      .stop_when_hit = TG_BARRIER_STOP_NONE,
                                                      .stop_when_done = TG_BARRIER_STOP_PROCESS,
                                                      .satisfaction = "group 2"};

/* Text that PRINT writes; the caller's. */
static char *shown(const struct tg_action_points *points, uint32_t id, enum tg_action_points_which which)
{
    char *text = NULL;
    size_t size;
    const struct tg_action_point *point = NULL;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    if (id == 0) {
        assert_null(tg_action_points_print(points, which, stream));
    } else {
        assert_null(tg_action_points_find(points, id, &point));
        tg_action_points_print_suppressed(points, stream);
        tg_action_point_print(point, stream);
    }
    fclose(stream);
    return text;
}

static void assert_shown(const struct tg_action_points *points, uint32_t id, const char *expected)
{
    char *text = shown(points, id, TG_ACTION_POINTS_ALL);
    assert_string_equal(text, expected);
    free(text);
}

static void the_documentations_blocks_come_out(void **state)
{
    struct tg_action_points *points = *state;
    add(points, &thread_barrier);
    add(points, &process_barrier);
    assert_shown(points, 2,
                 "1 shared action point for group 3:\n"
                 "2 addr=0x120005598 [../regress/fork_loop.cxx#580]\n"
                 "Enabled (barrier)\n"
                 "Share in group: true\n"
                 "Stop when hit: process\n"
                 "Stop when done: process\n"
                 "process barrier; satisfaction set = group 1\n");
    assert_shown(points, 1,
                 "1 unshared action point for process 1:\n"
                 "1 addr=0x120005598 [../regress/fork_loop.cxx#580]\n"
                 "Enabled (barrier)\n"
                 "Share in group: false\n"
                 "Stop when hit: thread\n"
                 "Stop when done: process\n"
                 "thread barrier; satisfaction set = group 2\n");
}

static void breakpoints_have_a_full_form_too(void **state)
{
    struct tg_action_points *points = *state;
    struct tg_action_point point = line_573;
    point.condition = "$rax\x1b == 1";
    point.pending = true;
    add(points, &point);
    assert_shown(points, 1,
                 "1 shared action point for group 3:\n1 [fork_loop.cxx#573]\nEnabled (pending)\n"
                 "Share in group: true\nStop when hit: group\nCondition: $rax\\x1b == 1\n");
    assert_null(tg_action_points_place(points, 1, 0xabc, "x.c#1"));
    assert_null(tg_action_points_enable(points, 1, false));
    assert_shown(points, 1,
                 "1 shared action point for group 3:\n1 addr=0xabc [x.c#1]\nDisabled\n"
                 "Share in group: true\nStop when hit: group\nCondition: $rax\\x1b == 1\n");
    for (int i = 0; i < 2; i++) { /* other programs, each with several processes */
        assert_null(tg_action_points_place_more(points, 1, "x.c#1"));
        assert_null(tg_action_points_place_more(points, 1, "y.c#12"));
        assert_null(tg_action_points_place_more(points, 1, "y.c#1"));
        assert_null(tg_action_points_place_more(points, 1, ""));
    }
    assert_shown(points, 1,
                 "1 shared action point for group 3:\n1 addr=0xabc [x.c#1, y.c#12, y.c#1]\nDisabled\n"
                 "Share in group: true\nStop when hit: group\nCondition: $rax\\x1b == 1\n");
    assert_fails(tg_action_points_place_more(points, 2, "y.c#1"), TG_ERROR_NOT_FOUND);
    assert_null(tg_action_points_unplace(points, 1));
    assert_shown(points, 1,
                 "1 shared action point for group 3:\n1 [573]\nDisabled (pending)\n"
                 "Share in group: true\nStop when hit: group\nCondition: $rax\\x1b == 1\n");
    assert_fails(tg_action_points_unplace(points, 2), TG_ERROR_NOT_FOUND);
    point =
        (struct tg_action_point){.pending = true, .shared = true, .group = 3, .location = "lib.so`a::b.c:12"};
    add(points, &point);
    assert_shown(points, 2,
                 "1 shared action point for group 3:\n2 [lib.so`a::b.c#12]\nDisabled (pending)\n"
                 "Share in group: true\nStop when hit: thread\n");
}

static void the_list_is_short_and_by_group(void **state)
{
    struct tg_action_points *points = *state;
    add(points, &thread_barrier);
    add(points, &process_barrier);
    add(points, &line_573);
    assert_null(tg_action_points_enable(points, 2, false));
    assert_null(tg_action_points_hit(points, 3));
    assert_null(tg_action_points_hit(points, 3));
    assert_shown(points, 0,
                 "2 shared action points for group 3:\n"
                 "  2 [../regress/fork_loop.cxx#580] Disabled (barrier)\n"
                 "  3 [fork_loop.cxx#573] Enabled, hit 2 times\n"
                 "1 unshared action point for process 1:\n"
                 "  1 [../regress/fork_loop.cxx#580] Enabled (barrier)\n");
    char *text = shown(points, 0, TG_ACTION_POINTS_DISABLED);
    assert_string_equal(text, "1 shared action point for group 3:\n"
                              "  2 [../regress/fork_loop.cxx#580] Disabled (barrier)\n");
    free(text);
    text = shown(points, 0, TG_ACTION_POINTS_ENABLED);
    assert_null(strstr(text, "  2 "));
    assert_non_null(strstr(text, "  1 "));
    free(text);
    tg_action_points_suppress(points, true);
    text = shown(points, 0, TG_ACTION_POINTS_ALL);
    assert_non_null(strstr(text, "suppressed"));
    free(text);
    text = shown(points, 1, TG_ACTION_POINTS_ALL);
    assert_int_equal(strncmp(text, "Action points are suppressed: none is in effect\n1 unshared", 58), 0);
    free(text);
}

static void a_point_may_be_of_several_groups(void **state)
{
    static const uint32_t more[] = {7, 9};
    struct tg_action_points *points = *state;
    struct tg_action_point wide = line_573, pair = line_573;
    wide.more_groups = pair.more_groups = more;
    wide.n_more_groups = 2;
    pair.n_more_groups = 1;
    add(points, &wide);
    add(points, &line_573);
    add(points, &pair);
    add(points, &wide);
    assert_shown(points, 0,
                 "1 shared action point for group 3:\n  2 [fork_loop.cxx#573] Enabled\n"
                 "1 shared action point for groups 3 and 7:\n  3 [fork_loop.cxx#573] Enabled\n"
                 "2 shared action points for groups 3, 7 and 9:\n"
                 "  1 [fork_loop.cxx#573] Enabled\n  4 [fork_loop.cxx#573] Enabled\n");
    for (uint32_t group = 0; group < 12; group++)
        assert_int_equal(tg_action_point_is_of_group(tg_action_points_get(points, 3), group),
                         group == 3 || group == 7);
    assert_true(tg_action_point_is_of_group(tg_action_points_get(points, 4), 9));
    assert_true(tg_action_points_tell_left_out(points, 2));
    assert_false(tg_action_points_tell_left_out(points, 2));
    assert_false(tg_action_points_tell_left_out(points, 20));
}

static void numbers_are_not_used_again(void **state)
{
    struct tg_action_points *points = *state;
    assert_int_equal(add(points, &line_573), 1);
    assert_int_equal(add(points, &line_573), 2);
    assert_int_equal(add(points, &line_573), 3);
    assert_null(tg_action_points_remove(points, 2));
    assert_null(tg_action_points_remove(points, 3));
    assert_int_equal(add(points, &line_573), 4);
    assert_int_equal(tg_action_points_count(points), 2);
    assert_int_equal(tg_action_points_at(points, 1)->id, 4);
    assert_fails(tg_action_points_remove(points, 2), TG_ERROR_NOT_FOUND);
    assert_fails(tg_action_points_enable(points, 0, true), TG_ERROR_NOT_FOUND);
    assert_fails(tg_action_points_hit(points, 5), TG_ERROR_NOT_FOUND);
    assert_fails(tg_action_points_place(points, 3, 1, ""), TG_ERROR_NOT_FOUND);
}

static void what_is_in_force(void **state)
{
    struct tg_action_points *points = *state;
    struct tg_action_point pending = line_573;
    pending.pending = true;
    add(points, &line_573);
    add(points, &pending);
    assert_true(tg_action_points_in_force(points, 1));
    assert_false(tg_action_points_in_force(points, 2));
    assert_false(tg_action_points_in_force(points, 3));
    assert_null(tg_action_points_place(points, 2, 0x10, ""));
    assert_true(tg_action_points_in_force(points, 2));
    tg_action_points_suppress(points, true);
    assert_false(tg_action_points_in_force(points, 1));
    tg_action_points_suppress(points, false);
    assert_null(tg_action_points_enable(points, 1, false));
    assert_false(tg_action_points_in_force(points, 1));
}

/* ---- saving */

/* Notes its words, one in brackets each, behind what was noted before; its result is "7". */
static int note_command(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    Tcl_DString *noted = data;
    for (int i = 0; i < argc; i++) {
        Tcl_DStringAppend(noted, "<", 1);
        Tcl_DStringAppend(noted, Tcl_GetString(argv[i]), -1);
        Tcl_DStringAppend(noted, ">", 1);
    }
    Tcl_DStringAppend(noted, "\n", 1);
    Tcl_SetObjResult(interp, Tcl_NewIntObj(7));
    return TCL_OK;
}

static void a_saved_script_says_the_same_whatever_names_are_in_it(void **state)
{
    struct tg_action_points *points = *state;
    static const char *const commands[] = {"dfocus", "dactions", "ddisable"};
    struct tg_action_point hostile = line_573;
    hostile.location = "a b#[exit 9]$x}{\n;\"\\";
    hostile.condition = "$a > {1";
    hostile.enabled = false;
    hostile.stop_when_hit = TG_BARRIER_STOP_NONE;
    add(points, &line_573);
    add(points, &process_barrier);
    add(points, &thread_barrier);
    add(points, &hostile);
    tg_action_points_suppress(points, true);
    char *script = NULL;
    size_t size;
    FILE *stream = open_memstream(&script, &size);
    tg_action_points_save(points, stream);
    fclose(stream);
    Tcl_Interp *interp = Tcl_CreateInterp();
    Tcl_DString noted;
    Tcl_DStringInit(&noted);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        Tcl_CreateObjCommand(interp, commands[i], note_command, &noted, NULL);
    if (Tcl_Eval(interp, script) != TCL_OK)
        fail_msg("%s\n%s", Tcl_GetStringResult(interp), script);
    assert_string_equal(
        Tcl_DStringValue(&noted),
        "<dfocus><g1.<><dbreak><573><-g><-pending>\n"
        "<dfocus><d1.<><dbarrier><580><-stop_when_hit><process><-stop_when_done><process><-pending>\n"
        "<dfocus><pW1.<><dbarrier><580><-stop_when_hit><thread><-stop_when_done><process><-pending>\n"
        "<dfocus><g1.<><dbreak><a b#[exit 9]$x}{\n;\"\\><-t><-if><$a > {1><-pending>\n"
        "<ddisable><7>\n"
        "<dactions><-suppress>\n");
    Tcl_DStringFree(&noted);
    Tcl_DeleteInterp(interp);
    free(script);
}

static void widths_are_words(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum tg_barrier_stop stop;
    } good[] = {{"group", TG_BARRIER_STOP_GROUP},
                {"process", TG_BARRIER_STOP_PROCESS},
                {"none", TG_BARRIER_STOP_NONE},
                {"thread", TG_BARRIER_STOP_NONE}};
    enum tg_barrier_stop stop;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_null(tg_action_point_parse_stop("-stop_when_hit", good[i].word, &stop));
        assert_int_equal(stop, good[i].stop);
    }
    struct tg_error *error = tg_action_point_parse_stop("-stop_when_hit", "all", &stop);
    assert_non_null(error);
    assert_non_null(strstr(tg_error_message(error), "-stop_when_hit: invalid width 'all'"));
    tg_error_destroy(error);
}

int main(void)
{
    Tcl_FindExecutable(NULL);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_documentations_blocks_come_out),
        TEST(breakpoints_have_a_full_form_too),
        TEST(the_list_is_short_and_by_group),
        TEST(a_point_may_be_of_several_groups),
        TEST(numbers_are_not_used_again),
        TEST(what_is_in_force),
        TEST(a_saved_script_says_the_same_whatever_names_are_in_it),
        TEST(widths_are_words),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    Tcl_Finalize();
    return failed;
}
