/* The threads that a search for leaks begins with where a process ends, whoever of them ends first, and however far they have
 * gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine.h"
#include "recorder/leaks/thread_ends.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_WAITING = 8, N_PASSED = 3 };

/* ---- the program: some threads that end, and others that its end finds where they wait */

static pthread_barrier_t all;

static void *pass(void *unused)
{
    return unused;
}

static void *wait_for_end(void *unused)
{
    pthread_barrier_wait(&all);
    for (;;)
        pause();
    return unused;
}

static int program(bool is_killed)
{
    pthread_t threads[N_WAITING];
    pthread_barrier_init(&all, NULL, N_WAITING + 1);
    for (int i = 0; i < N_PASSED; i++)
        if (pthread_create(&threads[i], NULL, pass, NULL) != 0 || pthread_join(threads[i], NULL) != 0)
            return 1;
    for (int i = 0; i < N_WAITING; i++)
        if (pthread_create(&threads[i], NULL, wait_for_end, NULL) != 0)
            return 1;
    pthread_barrier_wait(&all);
    if (is_killed)
        raise(SIGKILL);
    exit(0);
}

/* ---- the tests */

struct watch {
    struct tg_thread_ends ends;
    struct tg_leak_threads threads;
    unsigned n_ends;
};

/* Those that have had their last stop are reaped in the meantime, or are not: neither is to matter. */
static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct watch *watch = context;
    if (stop->trigger != TG_TRIGGER_EXIT)
        return;
    tg_thread_ends_note(&watch->ends, thread);
    if (watch->n_ends++ % 2 == 0)
        usleep(1000);
}

static void process_leaving(void *context, struct tg_thread *thread, enum tg_stop_trigger trigger)
{
    struct watch *watch = context;
    if (trigger == TG_TRIGGER_EXIT)
        assert_null(tg_leak_threads_read(thread->process, &watch->ends, &watch->threads));
}

static void forget(void *context, const struct tg_event *event)
{
    (void)context;
    (void)event;
}

static void check_end(const char *how)
{
    struct watch watch = {0};
    struct tg_engine *engine = NULL;
    const struct tg_engine_options options = {.sink = {.add = forget}, .kill_on_exit = true};
    const struct tg_observer observer = {
        .name = "ends", .context = &watch, .stopped = stopped, .process_leaving = process_leaving};
    char *argv[] = {"/proc/self/exe", (char *)how, NULL};
    pid_t pid;
    int status;
    assert_null(tg_engine_create(&options, &engine));
    assert_null(tg_engine_add_observer(engine, &observer, NULL));
    assert_null(tg_engine_launch(engine, argv, &pid));
    assert_null(tg_engine_run(engine, &status));
    assert_true(watch.threads.are_all);
    assert_int_equal(watch.threads.count, N_WAITING + 1);
    for (size_t i = 0; i < watch.threads.count; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(watch.threads.stacks[i].thread_pointer,
                                 watch.threads.stacks[k].thread_pointer);
    tg_engine_destroy(engine);
    tg_leak_threads_deinit(&watch.threads);
    tg_thread_ends_deinit(&watch.ends);
}

static void threads_of_a_killed_process_are_known_as_they_stood(void **state)
{
    (void)state;
    check_end("killed");
}

static void threads_of_a_process_that_exits_are_too(void **state)
{
    (void)state;
    check_end("exits");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return program(strcmp(argv[1], "killed") == 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_killed_process_are_known_as_they_stood),
        cmocka_unit_test(threads_of_a_process_that_exits_are_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
