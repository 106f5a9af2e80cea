/* Threads that are paused: one whose exit stop waits for its handling while another thread executes a program, one that has
 * made a child by vfork, and a first thread while a signal comes that is natively its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_FD = 41, EXEC_FD = 42 }; /* pipes from which the program reads when to go on */

/* ---- the program: its first thread ends, and another one executes /bin/true */

static void wait_for(int fd)
{
    char byte;
    while (read(fd, &byte, 1) < 0)
        continue;
}

static volatile bool is_running;

static void *execute(void *unused)
{
    (void)unused;
    is_running = true;
    wait_for(EXEC_FD);
    execl("/bin/true", "true", (char *)NULL);
    abort();
}

static void ignore(int signal)
{
    (void)signal;
}

static int program(void)
{
    pthread_t thread;
    signal(SIGUSR1, ignore);
    pthread_create(&thread, NULL, execute, NULL);
    while (!is_running)
        usleep(500);
    if (fork() == 0) {
        raise(SIGUSR1);
        _exit(0);
    }
    wait_for(EXIT_FD);
    syscall(SYS_exit, 0);
    return 1;
}

/* ---- another program: waits for a child of vfork, which raises a signal when the vfork is over */

static int parent(void)
{
    int ends[2];
    char number[16];
    if (pipe(ends) != 0)
        return 1;
    snprintf(number, sizeof number, "%d", ends[0]);
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", "program", "child", number, (char *)NULL);
        _exit(1);
    }
    return write(ends[1], "", 1) != 1 || waitpid(child, NULL, 0) != child;
}

static int child(int fd)
{
    signal(SIGUSR1, ignore);
    wait_for(fd);
    raise(SIGUSR1);
    return 0;
}

/* ---- a third one: has two threads, and waits for SIGINT, the handler of which is to run in the first */

static volatile pid_t handled_in;

static void handle(int signal)
{
    (void)signal;
    handled_in = (pid_t)syscall(SYS_gettid);
}

static void *run(void *unused)
{
    (void)unused;
    is_running = true;
    while (handled_in == 0)
        usleep(500);
    return NULL;
}

static int handler(void)
{
    pthread_t thread;
    signal(SIGINT, handle);
    pthread_create(&thread, NULL, run, NULL);
    while (!is_running)
        usleep(500);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, ignore);
        raise(SIGUSR1);
        _exit(0);
    }
    while (handled_in == 0)
        usleep(500);
    return handled_in == getpid() && waitpid(child, NULL, 0) == child ? 0 : 3;
}

/* ---- the observer */

struct observing {
    struct tg_engine *engine;
    struct tg_observer observer;
    size_t slot;
    pid_t pid;
    int exit_fd, exec_fd;
    bool paused;
    unsigned n_execs, n_unknown_ends, n_signals;
    char last[256];
};

/* Waits until the first thread of PID is in STATE, and the process runs a program whose path ends with NAME. */
static bool await_state(pid_t pid, const char *name, char wanted)
{
    for (unsigned i = 0; i < 20000; i++, usleep(500)) {
        char path[64], text[512] = "", state = '?';
        snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
        ssize_t n = readlink(path, text, sizeof text - 1);
        bool runs = n >= (ssize_t)strlen(name) && strcmp(text + n - strlen(name), name) == 0;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "re");
        if (file == NULL || fscanf(file, "%*d %*[^)]) %c", &state) != 1)
            state = '?';
        if (file != NULL)
            fclose(file);
        if (state == wanted && (runs || *name == '\0'))
            return true;
    }
    return false;
}

static bool await_stop(pid_t pid, const char *name)
{
    return await_state(pid, name, 't');
}

static struct tg_thread *first_thread(const struct observing *observing)
{
    struct tg_process *process = tg_engine_find_process(observing->engine, observing->pid);
    assert_non_null(process);
    struct tg_thread *first = process->threads;
    while (first != NULL && first->tid != observing->pid)
        first = first->hh.next;
    assert_non_null(first);
    return first;
}

/* The child of vfork is stopped by a signal. */
static void child_stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct observing *observing = context;
    if (stop->trigger != TG_TRIGGER_SIGNAL || stop->signal != SIGUSR1 ||
        thread->process->pid == observing->pid)
        return;
    struct tg_thread *first = first_thread(observing);
    assert_true(await_state(observing->pid, "", 'S'));
    assert_int_equal(
        tg_threads_pause(observing->engine, &first, 1, tg_engine_now_ns() + UINT64_C(10000000000)), 1);
    assert_true(tg_thread_is_stopped(first));
    observing->paused = true;
}

/* Whether any thread of PID but the first is stopped. */
static bool await_other_stop(const struct observing *observing)
{
    for (struct tg_thread *thread = first_thread(observing)->process->threads; thread != NULL;
         thread = thread->hh.next)
        if (thread->tid != observing->pid)
            return await_state(thread->tid, "", 't');
    return false;
}

static void first_is_paused(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct observing *observing = context;
    if (stop->trigger != TG_TRIGGER_SIGNAL || stop->signal != SIGUSR1 ||
        thread->process->pid == observing->pid)
        return;
    struct tg_thread *first = first_thread(observing);
    assert_int_equal(
        tg_threads_pause(observing->engine, &first, 1, tg_engine_now_ns() + UINT64_C(10000000000)), 1);
    observing->paused = true;
    assert_int_equal(kill(observing->pid, SIGINT), 0);
    assert_true(await_other_stop(observing));
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct observing *observing = context;
    if (stop->trigger != TG_TRIGGER_SIGNAL || stop->signal != SIGUSR1 ||
        thread->process->pid == observing->pid)
        return;
    struct tg_thread *first = first_thread(observing);
    assert_int_equal(write(observing->exit_fd, "", 1), 1);
    assert_true(await_stop(observing->pid, ""));
    tg_threads_pause(observing->engine, &first, 1, tg_engine_now_ns() + UINT64_C(10000000000));
    observing->paused = true;
    assert_int_equal(write(observing->exec_fd, "", 1), 1);
    assert_true(await_stop(observing->pid, "/true") || await_stop(observing->pid, "/coreutils"));
}

static void take_event(void *context, const struct tg_event *event)
{
    struct observing *observing = context;
    observing->n_unknown_ends += event->kind == TG_EVENT_THREAD_EXIT && event->thread_exit.status == -1;
    if (event->kind != TG_EVENT_EXEC || event->pid != observing->pid)
        return;
    observing->n_execs++;
    snprintf(observing->last, sizeof observing->last, "%s", event->exec.path);
}

static int pipe_for(int fd)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], fd), fd);
    close(ends[0]);
    return ends[1];
}

/* Traces WORD, one of the programs above, until it has ended, with STOPPED_AT told of all stops and TAKE of all events; its wait
 * status. */
static int trace(struct observing *observing, char *word,
                 void (*stopped_at)(void *context, struct tg_thread *thread, const struct tg_stop *stop),
                 void (*take)(void *context, const struct tg_event *event))
{
    const struct tg_engine_options options = {.sink = {.context = observing, .add = take},
                                              .kill_on_exit = true};
    char self[] = "/proc/self/exe", *command[] = {self, word, NULL};
    int status = -1;
    assert_null(tg_engine_create(&options, &observing->engine));
    observing->observer = (struct tg_observer){.name = "pause", .context = observing, .stopped = stopped_at};
    assert_null(tg_engine_add_observer(observing->engine, &observing->observer, &observing->slot));
    assert_null(tg_engine_launch(observing->engine, command, &observing->pid));
    assert_null(tg_engine_run(observing->engine, &status));
    assert_true(observing->paused);
    tg_engine_destroy(observing->engine);
    return status;
}

static void test_exec_while_exit_stop_waits(void **state)
{
    (void)state;
    struct observing observing = {.exit_fd = pipe_for(EXIT_FD), .exec_fd = pipe_for(EXEC_FD)};
    char word[] = "program";
    assert_int_equal(trace(&observing, word, stopped, take_event), 0);
    assert_int_equal(observing.n_unknown_ends, 0); /* the stop was over, and is not handled */
    assert_true(observing.n_execs > 0);
    assert_non_null(strstr(observing.last, "true"));
    close(observing.exit_fd);
    close(observing.exec_fd);
}

/* Who has made a child by vfork can be stopped as soon as that has executed a program. */
static void test_vfork_is_over(void **state)
{
    (void)state;
    struct observing observing = {0};
    char word[] = "parent";
    assert_int_equal(trace(&observing, word, child_stopped, take_event), 0);
}

static void take_signal(void *context, const struct tg_event *event)
{
    struct observing *observing = context;
    if (event->kind != TG_EVENT_SIGNAL || event->signal.signal != SIGINT)
        return;
    assert_int_equal(event->tid, observing->pid);
    assert_int_equal(event->signal.sender_pid, getpid());
    assert_int_equal(event->signal.code, SI_USER);
    observing->n_signals++;
}

static void test_signal_is_the_first_threads(void **state)
{
    (void)state;
    struct observing observing = {0};
    char word[] = "handler";
    assert_int_equal(trace(&observing, word, first_is_paused, take_signal), 0);
    assert_int_equal(observing.n_signals, 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "program") == 0)
        return program();
    /* whoever is traced cannot be searched for leaks at its exit */
    if (argc > 1 && strcmp(argv[1], "parent") == 0)
        _exit(parent());
    if (argc > 1 && strcmp(argv[1], "handler") == 0)
        _exit(handler());
    if (argc > 2 && strcmp(argv[1], "child") == 0)
        _exit(child(atoi(argv[2])));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec_while_exit_stop_waits),
        cmocka_unit_test(test_vfork_is_over),
        cmocka_unit_test(test_signal_is_the_first_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
