#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine_internal.h"
#include "recorder/process/guard_process.h"
#include "recorder/process/proc_status.h"

#include <pthread.h>
#include <signal.h>
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

/* ---- forks that have begun when their threads are seized */

static void *spin(void *argument)
{
    for (volatile unsigned long n = 0;; n++)
        ;
    return argument;
}

/* A thread that runs, and may be in any system call as far as anybody can see, and one that waits. */
static pid_t start_runner(void)
{
    pthread_t thread;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    alarm(2 * TOO_LONG_S);
    pthread_create(&thread, NULL, spin, NULL);
    for (;;)
        pause();
}

/* The first thread waits, so the other one has been started. */
static void await_waiting(pid_t pid)
{
    struct tg_proc_status status;
    do
        sleep_ms(1);
    while (tg_proc_status_read(pid, &status) && status.state != 'S');
}

struct seen {
    struct tg_engine *engine;
    char waiting, running; /* what the kernel says of the threads: t traced and stopped, S waits */
};

static void look_at_threads(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                            struct tg_process *parent)
{
    struct seen *seen = context;
    (void)origin;
    (void)parent;
    for (const struct tg_thread *t = thread->process->threads; t != NULL; t = t->hh.next) {
        struct tg_proc_status status;
        assert_true(tg_proc_status_read(t->tid, &status));
        *(t->tid == thread->process->pid ? &seen->waiting : &seen->running) = status.state;
    }
    tg_engine_request_stop(seen->engine);
}

/* A child of such a thread would have what is planted from now on, and nobody would trace it. */
static void test_thread_that_may_be_forking_has_stopped_when_process_is_announced(void **state)
{
    (void)state;
    struct seen seen = {0};
    const struct tg_engine_options options = {.sink = {.add = ignore_event}};
    const struct tg_observer observer = {
        .name = "seen", .context = &seen, .process_started = look_at_threads};
    size_t slot;
    pid_t pid = start_runner();
    alarm(TOO_LONG_S);
    await_waiting(pid);
    assert_null(tg_engine_create(&options, &seen.engine));
    assert_null(tg_engine_add_observer(seen.engine, &observer, &slot));
    assert_null(tg_engine_attach(seen.engine, pid));
    assert_null(tg_engine_run(seen.engine, NULL));
    tg_engine_destroy(seen.engine);
    alarm(0);
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    assert_int_equal(seen.running, 't');
    assert_int_equal(seen.waiting, 'S'); /* is not disturbed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard_of_a_killed_recorder_is_waited_for),
        cmocka_unit_test(test_any_other_tracer_is_not),
        cmocka_unit_test(test_thread_that_may_be_forking_has_stopped_when_process_is_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
