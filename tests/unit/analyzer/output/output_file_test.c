#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/output/output_file.h"

/* A directory of the test's own; its files are listed and removed at the end. */
static char directory[] = "/tmp/tollgate-output-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink("result");
    unlink("link");
    return rmdir(directory);
}

static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *listing = opendir(".");
    while (readdir(listing) != NULL)
        count++;
    closedir(listing);
    return count - 2;
}

static void expect_content(const char *content)
{
    char text[64] = {0};
    FILE *file = fopen("result", "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_int_equal(size, strlen(content));
    assert_string_equal(text, content);
}

static struct tg_error *write_result(bool force, const char *text)
{
    struct tg_output *output = NULL;
    struct tg_error *error = tg_output_open("result", force, &output);
    if (error != NULL)
        return error;
    fputs(text, tg_output_stream(output));
    error = tg_output_commit(output);
    tg_output_destroy(output);
    return error;
}

static void a_file_appears_whole_and_is_not_replaced_unasked(void **state)
{
    (void)state;
    assert_null(write_result(false, "one"));
    expect_content("one");
    struct tg_error *error = write_result(false, "two");
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_EXISTS);
    tg_error_destroy(error);
    expect_content("one");
    assert_null(write_result(true, "three"));
    expect_content("three");
    struct stat status;
    assert_int_equal(stat("result", &status), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(status.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink("result"), 0);
}

static void what_is_not_committed_is_not_there(void **state)
{
    (void)state;
    struct tg_output *output = NULL;
    assert_null(tg_output_open("result", false, &output));
    fputs("half", tg_output_stream(output));
    assert_int_equal(count_files(), 1);
    tg_output_destroy(output);
    assert_int_equal(count_files(), 0);
}

static void a_file_that_came_meanwhile_is_kept(void **state)
{
    (void)state;
    struct tg_output *output = NULL;
    assert_null(tg_output_open("result", false, &output));
    assert_null(write_result(false, "first"));
    struct tg_error *error = tg_output_commit(output);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_EXISTS);
    tg_error_destroy(error);
    tg_output_destroy(output);
    expect_content("first");
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink("result"), 0);
}

static void a_full_disk_is_an_error_and_a_closed_pipe_is_none(void **state)
{
    (void)state;
    struct tg_output *output = NULL;
    assert_null(tg_output_open("/dev/full", false, &output));
    fputs("much", tg_output_stream(output));
    struct tg_error *error = tg_output_commit(output);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_OS);
    assert_non_null(strstr(tg_error_message(error), "No space left"));
    tg_error_destroy(error);
    tg_output_destroy(output);

    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_null(tg_output_open(path, false, &output));
    close(ends[0]);
    for (int i = 0; i < 100000; i++)
        fputs("much", tg_output_stream(output));
    assert_true(tg_output_closed(output));
    assert_null(tg_output_commit(output));
    tg_output_destroy(output);
    close(ends[1]);
}

static void an_input_is_not_its_own_output(void **state)
{
    (void)state;
    assert_null(write_result(false, "trace"));
    assert_int_equal(symlink("result", "link"), 0);
    struct tg_error *error = tg_output_refuse_input("link", "./result");
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
    tg_error_destroy(error);
    assert_null(tg_output_refuse_input("other", "result"));
    assert_null(tg_output_refuse_input(NULL, "result"));
    assert_null(tg_output_refuse_input("-", "result"));
    assert_null(tg_output_refuse_input("result", "-"));
    assert_null(tg_output_refuse_input("/dev/null", "/dev/null"));
    assert_int_equal(unlink("link"), 0);
    assert_int_equal(unlink("result"), 0);
}

static void odd_places_are_errors(void **state)
{
    (void)state;
    static const char *const paths[] = {"missing/result", ".", "link"};
    assert_int_equal(symlink("nowhere", "link"), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct tg_output *output = NULL;
        struct tg_error *error = tg_output_open(paths[i], false, &output);
        assert_non_null(error);
        tg_error_destroy(error);
    }
    assert_int_equal(unlink("link"), 0);
    assert_int_equal(count_files(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_appears_whole_and_is_not_replaced_unasked),
        cmocka_unit_test(what_is_not_committed_is_not_there),
        cmocka_unit_test(a_file_that_came_meanwhile_is_kept),
        cmocka_unit_test(a_full_disk_is_an_error_and_a_closed_pipe_is_none),
        cmocka_unit_test(an_input_is_not_its_own_output),
        cmocka_unit_test(odd_places_are_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
