#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs ARGV with the standard output OUT, and waits for it: *FAILURE is the errno of its exec, the result its wait status. */
static int run(char *const *argv, const struct tg_spawn_options *options, char *out, size_t size,
               int *failure)
{
    int ends[2], status;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    int former = dup(1);
    dup2(ends[1], 1);
    struct tg_spawn spawn = TG_SPAWN_NONE;
    struct tg_error *error = tg_spawn_begin(argv, options, &spawn);
    if (error == NULL)
        error = tg_spawn_go(&spawn, argv[0]);
    dup2(former, 1);
    close(former);
    close(ends[1]);
    assert_null(error);
    *failure = tg_spawn_failure(&spawn);
    size_t used = 0;
    ssize_t n;
    while (used + 1 < size && (n = read(ends[0], out + used, size - 1 - used)) > 0)
        used += (size_t)n;
    out[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(spawn.pid, &status, 0), spawn.pid);
    tg_spawn_deinit(&spawn);
    return status;
}

static char folder[] = "/tmp/tg_spawn_test.XXXXXX";

/* A file in FOLDER/NAME, whose parent is made. */
static void put(const char *name, mode_t mode, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
}

static void set_path(const char *format)
{
    char path[400];
    snprintf(path, sizeof path, format, folder, folder, folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
}

/* As execvpe finds them: the first that can be executed, what has no format by a shell. */
static void programs_are_found_as_by_execvpe(void **state)
{
    (void)state;
    char out[100];
    int failure;
    char *const plain[] = {"found", "a b", NULL}, *const forbidden[] = {"forbidden", NULL},
                *const missing[] = {"missing", NULL}, *const nameless[] = {"", NULL};
    const struct tg_spawn_options options = {0};
    put("one/found", 0600, "#!/bin/sh\necho one $0 \"$@\"\n");
    put("one/forbidden", 0600, "");
    put("two/found", 0700, "echo two \"$@\" $#\n");
    put("two/file", 0600, "");
    set_path("%s/none:%s/one:%s/two");
    assert_int_equal(run(plain, &options, out, sizeof out, &failure), 0);
    assert_int_equal(failure, 0);
    assert_string_equal(out, "two a b 1\n");
    assert_int_equal(WEXITSTATUS(run(missing, &options, out, sizeof out, &failure)), 127);
    assert_int_equal(failure, ENOENT);
    assert_int_equal(WEXITSTATUS(run(nameless, &options, out, sizeof out, &failure)), 127);
    assert_int_equal(failure, ENOENT);
    assert_int_equal(WEXITSTATUS(run(forbidden, &options, out, sizeof out, &failure)), 126);
    assert_int_equal(failure, EACCES);
    set_path("%s/two/file:%s/two");
    assert_int_equal(run(plain, &options, out, sizeof out, &failure), 0);
    assert_string_equal(out, "two a b 1\n");
    unsetenv("PATH");
    char *const of_system[] = {"echo", "system", NULL};
    assert_int_equal(run(of_system, &options, out, sizeof out, &failure), 0);
    assert_string_equal(out, "system\n");
}

/* Signals are as the options say, whatever the caller has; the caller's memory, and its errno, stay. */
static void signals_and_input_are_as_asked(void **state)
{
    (void)state;
    char out[200];
    int failure;
    sigset_t mask, ignored;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGHUP);
    put("text", 0600, "typed\n");
    char path[200];
    snprintf(path, sizeof path, "%s/text", folder);
    int input = open(path, O_RDONLY | O_CLOEXEC);
    struct sigaction former, ignore = {.sa_handler = SIG_IGN};
    assert_int_equal(sigaction(SIGTERM, &ignore, &former), 0);
    char *const argv[] = {
        "/bin/sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status | tr -d '\\n\\t'; head -n 1; echo $GIVEN",
        NULL};
    char *const environment[] = {"PATH=/bin:/usr/bin", "GIVEN=given", NULL};
    struct tg_spawn_options options = {.mask = &mask,
                                       .ignored = &ignored,
                                       .environment = environment,
                                       .standard_input = &input,
                                       .own_group = true};
    errno = ERANGE;
    assert_int_equal(run(argv, &options, out, sizeof out, &failure), 0);
    assert_string_equal(out, "SigBlk:0000000000000800SigIgn:0000000000000001typed\ngiven\n");
    options.ignored = NULL; /* what the caller ignores */
    options.mask = NULL;
    lseek(input, 0, SEEK_SET);
    assert_int_equal(run(argv, &options, out, sizeof out, &failure), 0);
    assert_non_null(strstr(out, "SigBlk:0000000000000000"));
    assert_non_null(strstr(out, "SigIgn:"));
    assert_int_equal(strtoul(strstr(out, "SigIgn:") + 7, NULL, 16) >> (SIGTERM - 1) & 1, 1);
    sigaction(SIGTERM, &former, NULL);
    close(input);
}

/* A child that is not let go ends, and does nothing. */
static void who_is_not_let_go_ends(void **state)
{
    (void)state;
    char *const argv[] = {"/bin/echo", "gone", NULL};
    const struct tg_spawn_options options = {0};
    struct tg_spawn spawn = TG_SPAWN_NONE;
    int status;
    assert_null(tg_spawn_begin(argv, &options, &spawn));
    close(spawn.go);
    spawn.go = -1;
    assert_int_equal(tg_spawn_failure(&spawn), 0);
    assert_int_equal(waitpid(spawn.pid, &status, 0), spawn.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 127);
    tg_spawn_deinit(&spawn);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"one/found", "one/forbidden", "two/found", "two/file",
                                        "text",      "one",           "two",       ""};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_found_as_by_execvpe),
        cmocka_unit_test(signals_and_input_are_as_asked),
        cmocka_unit_test(who_is_not_let_go_ends),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
