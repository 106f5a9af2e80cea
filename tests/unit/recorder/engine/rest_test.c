/* Threads that are stopped before somebody asks for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOO_LONG_S = 30 };

/* ---- the program: one thread waits, the other ends it when it has been told */

static atomic_bool has_been_told;

static void take_signal(int signal)
{
    (void)signal;
    has_been_told = true;
}

static void *wait_long(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static int program(void)
{
    pthread_t thread;
    signal(SIGUSR1, take_signal);
    pthread_create(&thread, NULL, wait_long, NULL);
    alarm(2 * TOO_LONG_S);
    while (!has_been_told)
        usleep(1000);
    return 7;
}

/* ---- what is done to it, one step after another, each when the one before has come true */

struct course {
    struct tg_engine *engine;
    pid_t pid;
    unsigned step, n_kept, n_events;
    bool ends_by_detach;
    atomic_bool is_over;
};

/* The thread that waits; NULL: it has not begun. */
static struct tg_thread *find_waiter(const struct course *course)
{
    const struct tg_process *process = tg_engine_find_process(course->engine, course->pid);
    for (struct tg_thread *thread = process == NULL ? NULL : process->threads; thread != NULL;
         thread = thread->hh.next)
        if (thread->tid != course->pid)
            return thread;
    return NULL;
}

static bool is_in_state(pid_t tid, char wanted)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    FILE *file = fopen(path, "re");
    if (file == NULL || fscanf(file, "%*d %*[^)]) %c", &state) != 1)
        state = '?';
    if (file != NULL)
        fclose(file);
    return state == wanted;
}

static void serve(void *context)
{
    struct course *course = context;
    struct tg_thread *waiter = find_waiter(course);
    if (waiter == NULL)
        return;
    bool is_stopped = is_in_state(waiter->tid, 't'), waits = is_in_state(waiter->tid, 'S');
    switch (course->step) {
    case 0: /* nobody hears of a rest */
    case 3:
    case 5:
        if (!waits)
            return;
        tg_thread_rest(waiter);
        course->n_events = 0;
        break;
    case 1: /* a halt finds it */
        if (!is_stopped || !tg_thread_is_stopped(waiter))
            return;
        assert_false(tg_thread_is_kept(waiter));
        assert_int_equal(course->n_kept, 0);
        tg_thread_halt(waiter);
        break;
    case 2:
        if (course->n_kept == 0)
            return;
        assert_true(tg_thread_is_kept(waiter));
        tg_thread_go(waiter);
        break;
    case 4: /* it goes on as if nothing had been */
        if (!is_stopped || !tg_thread_is_stopped(waiter))
            return;
        tg_engine_end_rests(course->engine);
        break;
    case 6: /* a detach, or its signal, ends the rest */
        if (!is_stopped || !tg_thread_is_stopped(waiter))
            return;
        assert_int_equal(course->n_kept, 1);
        assert_int_equal(course->n_events, 0);
        syscall(SYS_tgkill, course->pid, waiter->tid, SIGUSR1);
        if (course->ends_by_detach)
            tg_engine_request_stop(course->engine);
        break;
    case 7: /* without either it would never be handled */
        assert_true(is_stopped);
        tg_engine_end_rests(course->engine);
        break;
    default:
        return;
    }
    course->step++;
}

static void kept(void *context, struct tg_thread *thread, const struct tg_stop_reason *reason)
{
    struct course *course = context;
    (void)thread, (void)reason;
    course->n_kept++;
}

static void take_event(void *context, const struct tg_event *event)
{
    struct course *course = context;
    (void)event;
    course->n_events++;
}

static void *call_now_and_then(void *argument)
{
    struct course *course = argument;
    while (!course->is_over) {
        tg_engine_wake(course->engine);
        usleep(1000);
    }
    return NULL;
}

static int run(struct course *course)
{
    const struct tg_engine_options options = {
        .sink = {.context = course, .add = take_event}, .serve = serve, .kill_on_exit = false};
    const struct tg_observer observer = {.name = "rest", .context = course, .kept = kept};
    char self[] = "/proc/self/exe", word[] = "program";
    char *command[] = {self, word, NULL};
    int status = -1;
    size_t slot;
    pthread_t caller;
    assert_null(tg_engine_create(&options, &course->engine));
    assert_null(tg_engine_add_observer(course->engine, &observer, &slot));
    assert_null(tg_engine_launch(course->engine, command, &course->pid));
    alarm(TOO_LONG_S); /* ends this test if a thread is never let go */
    assert_int_equal(pthread_create(&caller, NULL, call_now_and_then, course), 0);
    assert_null(tg_engine_run(course->engine, &status));
    course->is_over = true;
    pthread_join(caller, NULL);
    tg_engine_destroy(course->engine);
    if (course->ends_by_detach)
        assert_int_equal(waitpid(course->pid, &status, 0), course->pid);
    alarm(0);
    return status;
}

static void test_halt_end_and_signal(void **state)
{
    (void)state;
    struct course course = {0};
    int status = run(&course);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(course.step, 8);
}

static void test_detach(void **state)
{
    (void)state;
    struct course course = {.ends_by_detach = true};
    int status = run(&course);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(course.step, 7);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "program") == 0)
        _exit(program()); /* no sanitizer looks for leaks under a tracer */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halt_end_and_signal),
        cmocka_unit_test(test_detach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
