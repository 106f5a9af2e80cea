#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/trace/writer.h"
#include "recorder/rings/directory.h"
#include "tests/support/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static struct tg_agent_directory *make(const char *trace)
{
    const struct tg_agent_directory_options options = {
        .flags = TG_AGENT_MPI, .clock = TG_AGENT_CLOCK_TSC, .trace = trace};
    struct tg_agent_directory *directory = NULL;
    struct tg_error *error = tg_agent_directory_create(&options, &directory);
    if (error != NULL)
        fail_msg("%s", tg_error_message(error));
    return directory;
}

/* The remains of an interrupted recording of NAME with its rings in DIRECTORY. */
static void leave_trace(const char *name, const char *directory)
{
    struct tg_trace_meta *meta = NULL;
    struct tg_trace_writer *writer = NULL;
    assert_null(tg_trace_meta_create(&meta));
    assert_null(tg_trace_meta_set(meta, "agent.directory", directory));
    assert_null(tg_trace_writer_create(name, &(struct tg_trace_writer_options){0}, meta, &writer));
    tg_trace_writer_destroy(writer);
    tg_trace_meta_destroy(meta);
}

/* A recorder that dies with its directory: returns where that is. Where TRACE is given the recording of that
 * name is interrupted. */
static void leave_directory(const char *trace, char path[PATH_BYTES])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct tg_agent_directory_options options = {.trace = trace != NULL ? trace : "none"};
        struct tg_agent_directory *directory = NULL;
        if (tg_agent_directory_create(&options, &directory) != NULL)
            _exit(1);
        if (trace != NULL)
            leave_trace(trace, tg_agent_directory_path(directory));
        int ring = openat(tg_agent_directory_fd(directory), "ring.1.0", O_WRONLY | O_CREAT, 0600);
        const char *said = tg_agent_directory_path(directory);
        if (ring < 0 || write(ends[1], said, strlen(said) + 1) < 0)
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    close(ends[1]);
    assert_true(read(ends[0], path, PATH_BYTES) > 1);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void a_directory_is_private_and_goes_with_all_in_it(void **state)
{
    (void)state;
    mode_t before = umask(0277); /* whatever the user's is */
    struct tg_agent_directory *directory = make("job.tgt");
    umask(before);
    char *path = strdup(tg_agent_directory_path(directory));
    struct stat status;
    assert_int_equal(path[0], '/');
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    int fd = tg_agent_directory_fd(directory);
    assert_int_equal(fstatat(fd, "control", &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_size, TG_AGENT_CONTROL_BYTES);
    assert_true(fstatat(fd, "control.new", &status, 0) != 0);
    struct tg_agent_control control = tg_agent_directory_control(directory);
    assert_int_equal(control.magic, TG_AGENT_CONTROL_MAGIC);
    assert_int_equal(control.protocol, TG_AGENT_PROTOCOL);
    assert_int_equal(control.flags, TG_AGENT_MPI);
    assert_int_equal(control.clock, TG_AGENT_CLOCK_TSC);
    assert_int_equal(control.over, 0);
    assert_in_range(control.ring_bytes, TG_AGENT_RING_MIN_BYTES, 1 << 20);
    assert_int_equal(control.ring_bytes & (control.ring_bytes - 1), 0);
    /* an agent sees by the lock that its recorder lives, and by `over` that it is done */
    int agent = openat(fd, "control", O_RDONLY);
    assert_true(agent >= 0);
    assert_int_equal(flock(agent, LOCK_SH | LOCK_NB), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    close(openat(fd, "ring.1.0", O_WRONLY | O_CREAT, 0600));
    tg_agent_directory_destroy(directory);
    assert_false(exists(path));
    assert_int_equal(pread(agent, &control, sizeof control, 0), sizeof control);
    assert_int_equal(control.over, 1);
    assert_int_equal(flock(agent, LOCK_SH | LOCK_NB), 0);
    close(agent);
    free(path);
}

static void impossible_ring_sizes_are_refused(void **state)
{
    (void)state;
    static const uint64_t bad[] = {1,
                                   4096,
                                   TG_AGENT_RING_MIN_BYTES + 1,
                                   3 * TG_AGENT_RING_MIN_BYTES,
                                   2 * (uint64_t)TG_AGENT_RING_MAX_BYTES,
                                   UINT64_MAX};
    struct tg_agent_directory *directory = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct tg_agent_directory_options options = {.ring_bytes = bad[i]};
        struct tg_error *error = tg_agent_directory_create(&options, &directory);
        assert_non_null(error);
        assert_int_equal(tg_error_code(error), TG_ERROR_USAGE);
        tg_error_destroy(error);
    }
    const struct tg_agent_directory_options options = {.ring_bytes = TG_AGENT_RING_MAX_BYTES};
    assert_null(tg_agent_directory_create(&options, &directory));
    assert_int_equal(tg_agent_directory_control(directory).ring_bytes, TG_AGENT_RING_MAX_BYTES);
    tg_agent_directory_destroy(directory);
}

static void what_dead_recorders_left_is_removed(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    leave_directory(NULL, path);
    struct tg_agent_directory *directory = make("job.tgt");
    tg_agent_directory_clean(directory);
    assert_true(exists(tg_agent_directory_path(directory)));
    tg_agent_directory_destroy(directory);
    assert_false(exists(path));
}

static void what_an_interrupted_trace_needs_stays(void **state)
{
    (void)state;
    struct temporary temporary;
    char path[PATH_BYTES];
    temporary_init(&temporary);
    char *trace = temporary_path(&temporary, "job.tgt");
    char *incomplete = temporary_path(&temporary, "job.tgt.incomplete");
    leave_directory(trace, path);
    assert_true(exists(incomplete));
    tg_agent_directory_clean(NULL);
    assert_true(exists(path));
    /* a trace of the same name, but of another recording */
    assert_int_equal(unlink(incomplete), 0);
    leave_trace(trace, "/somewhere/else");
    tg_agent_directory_clean(NULL);
    assert_false(exists(path));
    free(incomplete);
    free(trace);
    temporary_deinit(&temporary);
}

static void what_another_container_left_stays_for_a_week(void **state)
{
    (void)state;
    char path[PATH_BYTES], view[PATH_BYTES + 8];
    leave_directory(NULL, path);
    snprintf(view, sizeof view, "%s/view", path);
    FILE *file = fopen(view, "w");
    assert_non_null(file);
    fputs("mnt:[1] 2:3", file);
    assert_int_equal(fclose(file), 0);
    tg_agent_directory_clean(NULL);
    assert_true(exists(path));
    const struct timespec long_ago[2] = {{.tv_sec = time(NULL) - 8 * 24 * 3600},
                                         {.tv_sec = time(NULL) - 8 * 24 * 3600}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    tg_agent_directory_clean(NULL);
    assert_false(exists(path));
}

static void what_living_recorders_use_stays(void **state)
{
    (void)state;
    struct tg_agent_directory *directory = make("job.tgt"), *other = make("job.tgt");
    tg_agent_directory_clean(NULL);
    assert_true(exists(tg_agent_directory_path(directory)));
    assert_true(exists(tg_agent_directory_path(other)));
    tg_agent_directory_destroy(other);
    tg_agent_directory_destroy(directory);
}

static void expect_error(const char *path, enum tg_error_code code)
{
    struct tg_agent_directory *directory = NULL;
    struct tg_error *error = tg_agent_directory_open(path, &directory);
    assert_non_null(error);
    assert_int_equal(tg_error_code(error), code);
    assert_non_null(strstr(tg_error_message(error), path));
    tg_error_destroy(error);
}

static void only_what_a_dead_recorder_left_is_opened(void **state)
{
    (void)state;
    struct temporary temporary;
    char path[PATH_BYTES];
    temporary_init(&temporary);
    expect_error("/nowhere/at/all", TG_ERROR_NOT_FOUND);
    expect_error("/etc/passwd", TG_ERROR_OS);
    expect_error("/tmp", TG_ERROR_INPUT);
    assert_int_equal(chmod(temporary.directory, 0700), 0);
    expect_error(temporary.directory, TG_ERROR_INPUT); /* no control file */
    char *control = temporary_path(&temporary, "control");
    temporary_write(control, "x", 1);
    expect_error(temporary.directory, TG_ERROR_INPUT);
    const struct tg_agent_control foreign = {.magic = TG_AGENT_CONTROL_MAGIC, .protocol = 99};
    temporary_write(control, &foreign, sizeof foreign);
    expect_error(temporary.directory, TG_ERROR_UNSUPPORTED);
    struct tg_agent_directory *living = make("job.tgt");
    expect_error(tg_agent_directory_path(living), TG_ERROR_EXISTS);
    tg_agent_directory_destroy(living);

    char *trace = temporary_path(&temporary, "job.tgt");
    struct tg_agent_directory *directory = NULL;
    leave_directory(trace, path);
    assert_null(tg_agent_directory_open(path, &directory));
    expect_error(path, TG_ERROR_EXISTS); /* one at a time */
    tg_agent_directory_close(directory);
    assert_true(exists(path));
    assert_null(tg_agent_directory_open(path, &directory));
    tg_agent_directory_destroy(directory);
    assert_false(exists(path));
    free(control);
    free(trace);
    temporary_deinit(&temporary);
}

/* As a recorder that starts does, to see whether the directory can be removed; and loses its processor. */
static void *look_for_long(void *argument)
{
    const int *control = argument;
    nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL); /* longer than who removes one is waited for */
    assert_int_equal(flock(*control, LOCK_UN), 0);
    return NULL;
}

static void who_only_looks_does_not_count_as_a_recorder(void **state)
{
    (void)state;
    struct temporary temporary;
    struct tg_agent_directory *directory = NULL;
    char path[PATH_BYTES], control_path[PATH_BYTES + 16];
    pthread_t thread;
    temporary_init(&temporary);
    char *trace = temporary_path(&temporary, "job.tgt");
    leave_directory(trace, path);
    snprintf(control_path, sizeof control_path, "%s/control", path);
    int control = open(control_path, O_RDONLY | O_CLOEXEC);
    assert_true(control >= 0);
    assert_int_equal(flock(control, LOCK_SH | LOCK_NB), 0);
    assert_int_equal(pthread_create(&thread, NULL, look_for_long, &control), 0);
    assert_null(tg_agent_directory_open(path, &directory));
    assert_int_equal(pthread_join(thread, NULL), 0);
    tg_agent_directory_destroy(directory);
    /* and several can look at the same time: what one looks at another one removes later */
    leave_directory(NULL, path);
    snprintf(control_path, sizeof control_path, "%s/control", path);
    int other = open(control_path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
    tg_agent_directory_clean(NULL);
    assert_true(exists(path));
    close(other);
    tg_agent_directory_clean(NULL);
    assert_false(exists(path));
    close(control);
    free(trace);
    temporary_deinit(&temporary);
}

static void *wait_for_attention(void *argument)
{
    const struct tg_agent_directory *directory = argument;
    uint32_t seen = 0;
    while (seen == 0) { /* far beyond the test's time limit, if nobody calls */
        tg_agent_directory_wait(directory, seen, UINT64_C(1000) * 1000000000);
        seen = tg_agent_directory_control(directory).attention;
    }
    return NULL;
}

static void a_call_for_attention_ends_the_wait(void **state)
{
    (void)state;
    struct tg_agent_directory *directory = make("job.tgt");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_attention, directory), 0);
    tg_agent_directory_call(directory);
    assert_int_equal(pthread_join(thread, NULL), 0);
    tg_agent_directory_wait(directory, 1, 1000); /* and without one it ends as well */
    /* cut short by a program: still no fault, no endless wait */
    int fd = openat(tg_agent_directory_fd(directory), "control", O_RDWR);
    assert_int_equal(ftruncate(fd, 0), 0);
    close(fd);
    tg_agent_directory_wait(directory, 0, 1000);
    assert_int_equal(tg_agent_directory_control(directory).rings_made, 0);
    tg_agent_directory_destroy(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_private_and_goes_with_all_in_it),
        cmocka_unit_test(impossible_ring_sizes_are_refused),
        cmocka_unit_test(what_dead_recorders_left_is_removed),
        cmocka_unit_test(what_an_interrupted_trace_needs_stays),
        cmocka_unit_test(what_another_container_left_stays_for_a_week),
        cmocka_unit_test(what_living_recorders_use_stays),
        cmocka_unit_test(only_what_a_dead_recorder_left_is_opened),
        cmocka_unit_test(who_only_looks_does_not_count_as_a_recorder),
        cmocka_unit_test(a_call_for_attention_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
