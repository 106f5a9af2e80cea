#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine_internal.h"
#include "recorder/process/guard_process.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TOO_LONG_S = 30 };

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static pid_t start_program(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(2 * TOO_LONG_S);
        for (;;)
            pause();
    }
    return pid;
}

/* A tracer of PROGRAM that is called NAME and lets it go after a while; returns once it traces. */
static pid_t start_tracer(pid_t program, const char *name)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NAME, name);
        if (ptrace(PTRACE_SEIZE, program, NULL, NULL) != 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        sleep_ms(300);
        _exit(0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void ignore_event(void *context, const struct tg_event *event)
{
    (void)context;
    (void)event;
}

/* NULL where a process that is traced by one called NAME is attached to, else why not. */
static struct tg_error *attach_beside(const char *name)
{
    const struct tg_engine_options options = {.sink = {.add = ignore_event}};
    struct tg_engine *engine;
    pid_t program = start_program(), tracer = start_tracer(program, name);
    alarm(TOO_LONG_S);
    assert_null(tg_engine_create(&options, &engine));
    struct tg_error *error = tg_engine_attach(engine, program);
    if (error == NULL) {
        tg_engine_request_stop(engine);
        assert_null(tg_engine_run(engine, NULL));
    }
    tg_engine_destroy(engine);
    alarm(0);
    kill(program, SIGKILL);
    (void)waitpid(tracer, NULL, 0); /* the engine may have done so, whose child it is as well */
    (void)waitpid(program, NULL, 0);
    return error;
}

static void test_guard_of_a_killed_recorder_is_waited_for(void **state)
{
    (void)state;
    assert_null(attach_beside(TG_GUARD_NAME));
}

static void test_any_other_tracer_is_not(void **state)
{
    (void)state;
    TG_AUTO_ERROR struct tg_error *error = attach_beside("other");
    assert_non_null(error);
    assert_non_null(strstr(tg_error_message(error), "already traced by process"));
    assert_non_null(strstr(tg_error_message(error), "(other)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard_of_a_killed_recorder_is_waited_for),
        cmocka_unit_test(test_any_other_tracer_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
