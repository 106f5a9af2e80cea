#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/output/trace_choice.h"

static char directory[] = "/tmp/tollgate-choice-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);
}

/* A file NAME, modified SECONDS after some moment. */
static void make(const char *name, time_t seconds)
{
    const struct timespec times[] = {{1000 + seconds, 0}, {1000 + seconds, 0}};
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void expect_newest(const char *name)
{
    char *path = NULL;
    assert_null(tg_trace_choice_newest(&path));
    assert_string_equal(path, name);
    free(path);
}

static void the_newest_trace_is_chosen(void **state)
{
    (void)state;
    char *path = NULL;
    struct tg_error *error = tg_trace_choice_newest(&path);
    assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
    assert_non_null(strstr(tg_error_message(error), "no trace (*.tgt) in the current directory"));
    tg_error_destroy(error);
    make("notes.txt", 900);
    make(".tgt", 900); /* no name */
    assert_int_equal(mkdir("folder.tgt", 0700), 0);
    make("old.tgt", 1);
    expect_newest("old.tgt");
    make("new.tgt", 3);
    make("middle.tgt", 2);
    expect_newest("new.tgt");
    make("running.tgt.incomplete", 4);
    expect_newest("running.tgt.incomplete");
    make("a.tgt", 4);
    expect_newest("a.tgt");
    const char *const files[] = {
        "notes.txt", ".tgt", "old.tgt", "new.tgt", "middle.tgt", "running.tgt.incomplete", "a.tgt"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    rmdir("folder.tgt");
}

static void a_trace_that_is_not_finished_is_named(void **state)
{
    (void)state;
    char *path = NULL;
    make("run.tgt.incomplete", 1);
    struct tg_error *error = tg_trace_choice_make("report", "run.tgt", &path);
    assert_int_equal(tg_error_code(error), TG_ERROR_NOT_FOUND);
    assert_non_null(strstr(tg_error_message(error), "run.tgt: no such file, but run.tgt.incomplete exists"));
    assert_non_null(strstr(tg_error_message(error), "tollgate recover run.tgt.incomplete"));
    tg_error_destroy(error);
    /* any other path is handed on: what is wrong with it, its reader tells */
    const char *const others[] = {"run.tgt.incomplete", "nothing.tgt", "-"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_null(tg_trace_choice_make("report", others[i], &path));
        assert_string_equal(path, others[i]);
        free(path);
    }
    make("run.tgt", 1);
    assert_null(tg_trace_choice_make("report", "run.tgt", &path));
    free(path);
    unlink("run.tgt");
    unlink("run.tgt.incomplete");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_trace_is_chosen),
        cmocka_unit_test(a_trace_that_is_not_finished_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
