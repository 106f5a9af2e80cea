/* Files of action points: what is saved is read back, and nothing else can be done by them. */
#include "live/commands/control/action_file.h"

#include "analyzer/job/action_points.h"
#include "tests/support/temporary.h"
#include "tests/support/trace_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct temporary temporary;
    Tcl_Interp *interp;
    char *path;
    char calls[4096]; /* commands that INTERP got, a line each */
    unsigned last_id;
};

/* Writes its words down; what dfocus is given it does. */
static int note(ClientData data, Tcl_Interp *interp, int argc, Tcl_Obj *const argv[])
{
    struct fixture *f = data;
    const char *name = Tcl_GetString(argv[0]);
    Tcl_Obj *words = Tcl_NewListObj(argc, argv);
    Tcl_IncrRefCount(words);
    strcat(strcat(f->calls, Tcl_GetString(words)), "\n");
    Tcl_DecrRefCount(words);
    if (argc > 1 && strcmp(Tcl_GetString(argv[1]), "nowhere") == 0) {
        Tcl_SetObjResult(interp, Tcl_NewStringObj("there is no nowhere\x1b\n   ^", -1));
        return TCL_ERROR;
    }
    if (strcmp(name, "dfocus") == 0)
        return Tcl_EvalObjEx(interp, argv[2], 0);
    Tcl_SetObjResult(interp, Tcl_NewWideIntObj(++f->last_id));
    return TCL_OK;
}

static int set_up(void **state)
{
    static const char *const names[] = {"dbreak", "dbarrier", "dfocus", "ddisable", "dactions"};
    struct fixture *f = calloc(1, sizeof *f);
    temporary_init(&f->temporary);
    f->path = temporary_path(&f->temporary, "points.tcl");
    f->interp = Tcl_CreateInterp();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        Tcl_CreateObjCommand(f->interp, names[i], note, f, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    Tcl_DeleteInterp(f->interp);
    free(f->path);
    temporary_deinit(&f->temporary);
    free(f);
    return 0;
}

static void test_saved(void **state)
{
    struct fixture *f = *state;
    struct tg_action_points *points = NULL;
    uint32_t id;
    size_t made;
    const struct tg_action_point saved[] = {
        {.kind = TG_ACTION_BREAK,
         .enabled = true,
         .location = "a b.c#1",
         .focus = "{g1.< 2}",
         .stop_when_hit = TG_BARRIER_STOP_GROUP,
         .condition = "$x == [exec rm]"},
        {.kind = TG_ACTION_BARRIER, .location = "f.c#2", .focus = "d1.<", .of_threads = true}};
    assert_fine(tg_action_points_create(&points));
    for (size_t i = 0; i < 2; i++)
        assert_fine(tg_action_points_add(points, &saved[i], &id));
    tg_action_points_suppress(points, true);
    FILE *file = fopen(f->path, "we");
    tg_action_points_save(points, file);
    fclose(file);
    tg_action_points_destroy(points);
    assert_fine(tg_action_file_load(f->interp, f->path, &made));
    assert_int_equal(made, 2);
    assert_string_equal(f->calls,
                        "dfocus {{g1.< 2}} {dbreak {a b.c#1} -g -if {$x == [exec rm]} -pending}\n"
                        "dbreak {a b.c#1} -g -if {$x == [exec rm]} -pending\n"
                        "dfocus d1.< {dbarrier f.c#2 -stop_when_hit thread -stop_when_done none -pending}\n"
                        "dbarrier f.c#2 -stop_when_hit thread -stop_when_done none -pending\n"
                        "ddisable 2\n"
                        "dactions -suppress\n");
}

/* Nothing of a script's happens, in either interpreter; the line of it is told. */
static void test_refused(void **state)
{
    static const struct {
        const char *script, *message;
        size_t made;
    } all[] = {
        {"exec touch here", ":1: invalid command name \"exec\"", 0},
        {"\n# x\ndbreak a\nset x 1", ":4: invalid command name \"set\"", 1},
        {"dfocus a {exec touch here}", ":1: a file of action points may use dfocus only as", 0},
        {"dfocus a dbreakpoint", "may use dfocus only as", 0},
        {"dfocus a", "may use dfocus only as", 0},
        {"dbreak [while 1 {}]", "invalid command name \"while\"", 0},
        {"while 1 {}", "invalid command name \"while\"", 0},
        {"::tcl::info::commands", "invalid command name", 0},
        {"::oo::class create x", "invalid command name", 0},
        {"dbreak $env(HOME)", "can't read", 0},
        {"ddisable -a", "only with a number", 0},
        {"ddisable {[exec touch here]}", "only with a number", 0},
        {"dactions -load other", "may use dactions only as", 0},
        {"dbreak a\ndbreak nowhere\ndbreak b", ":2: there is no nowhere\\x1b\n   ^", 1},
        {"dbreak {", "missing close-brace", 0},
        {"proc dbreak args {}", "invalid command name \"proc\"", 0},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        size_t made = 99;
        temporary_write(f->path, all[i].script, strlen(all[i].script));
        expect_error(tg_action_file_load(f->interp, f->path, &made), TG_ERROR_INPUT, all[i].message);
        assert_int_equal(made, all[i].made);
        assert_int_not_equal(access("here", F_OK), 0);
    }
    assert_null(strstr(f->calls, "exec"));
    assert_null(strstr(f->calls, "dbreak b\n"));
}

/* Words stay words: none is a script to the interpreter that does them. */
static void test_words(void **state)
{
    static const char script[] = "dbreak {[exec touch here]} -if {;exec touch here}\n"
                                 "dfocus {a] ; exec touch here} dbreak {b;exec} \\x5bexec\\x5d\n";
    struct fixture *f = *state;
    size_t made;
    temporary_write(f->path, script, strlen(script));
    assert_fine(tg_action_file_load(f->interp, f->path, &made));
    assert_int_equal(made, 2);
    assert_int_not_equal(access("here", F_OK), 0);
    assert_non_null(strstr(f->calls, "dbreak {[exec touch here]} -if {;exec touch here}\n"));
}

static void test_files(void **state)
{
    struct fixture *f = *state;
    size_t made;
    expect_error(tg_action_file_load(f->interp, f->path, &made), TG_ERROR_OS, "cannot open");
    expect_error(tg_action_file_load(f->interp, "/", &made), TG_ERROR_INPUT, "not a regular file");
    char *text = malloc(TG_ACTION_FILE_MAX + 1);
    memset(text, '\n', TG_ACTION_FILE_MAX + 1);
    temporary_write(f->path, text, TG_ACTION_FILE_MAX);
    assert_fine(tg_action_file_load(f->interp, f->path, &made));
    temporary_write(f->path, text, TG_ACTION_FILE_MAX + 1);
    expect_error(tg_action_file_load(f->interp, f->path, &made), TG_ERROR_LIMIT, "longer");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
    };
    Tcl_FindExecutable(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
