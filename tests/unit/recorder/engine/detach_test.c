#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/parked.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOO_LONG_S = 30 };

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

/* An observer that attaches to another process when it hears of the first one, as the one for MPI ranks does
 * when it hears of their starter. */
struct attacher {
    struct tg_engine *engine;
    pid_t other;
    bool has_attached;
    unsigned ended;
};

static bool is_early(const struct tg_engine *engine, pid_t tid)
{
    for (sig_atomic_t i = 0; i < engine->n_early; i++)
        if (engine->early[i].tid == tid)
            return true;
    return false;
}

static void started(void *context, struct tg_thread *thread, enum tg_process_origin origin,
                    struct tg_process *parent)
{
    struct attacher *attacher = context;
    (void)thread, (void)origin, (void)parent;
    if (attacher->has_attached)
        return;
    attacher->has_attached = true;
    assert_null(tg_engine_attach(attacher->engine, attacher->other));
    /* The wake signal's handler takes the stop where a further PTRACE_SEIZE is interrupted by the timer. */
    struct tg_early_status early = {.tid = attacher->other};
    while (!is_early(attacher->engine, attacher->other) &&    /* the thread may really have done so */
           !tg_parked_has(attacher->engine, attacher->other)) /* or the attach, where the fork was not over */
        if (waitpid(attacher->other, &early.status, __WALL | WNOHANG) != 0)
            attacher->engine->early[attacher->engine->n_early++] = early;
}

static void ended(void *context, struct tg_process *process)
{
    struct attacher *attacher = context;
    (void)process;
    attacher->ended++;
}

static void ignore_event(void *context, const struct tg_event *event)
{
    (void)context;
    (void)event;
}

static void test_stop_collected_early_while_detaching(void **state)
{
    (void)state;
    const struct tg_engine_options options = {.sink = {.add = ignore_event}};
    struct attacher attacher = {.other = start_program()};
    const struct tg_observer observer = {
        .name = "attacher", .context = &attacher, .process_started = started, .process_ended = ended};
    pid_t first = start_program();
    size_t slot;
    assert_null(tg_engine_create(&options, &attacher.engine));
    assert_null(tg_engine_add_observer(attacher.engine, &observer, &slot));
    assert_null(tg_engine_attach(attacher.engine, first));
    alarm(TOO_LONG_S); /* ends this test if the detach never does */
    tg_engine_request_stop(attacher.engine);
    assert_null(tg_engine_run(attacher.engine, NULL));
    alarm(0);
    assert_true(attacher.has_attached);
    assert_int_equal(attacher.ended, 2);
    assert_int_equal(waitpid(attacher.other, NULL, WNOHANG | WUNTRACED), 0); /* runs on */
    tg_engine_destroy(attacher.engine);
    const pid_t programs[] = {first, attacher.other};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        kill(programs[i], SIGKILL);
        assert_int_equal(waitpid(programs[i], NULL, 0), programs[i]);
    }
}

/* An observer that makes way for another tracer of the launched program at its entry point, whereupon that is killed. */
struct maker_of_way {
    int signal; /* kills the program */
    pid_t apart;
    struct tg_event_process_exit exit; /* as it was told */
    unsigned n_exits;
};

static void make_way(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    (void)context;
    if (stop->trigger == TG_TRIGGER_ENTRY)
        tg_engine_make_way(thread->process, "another tracer");
}

static void kill_apart(void *context, struct tg_process *process)
{
    struct maker_of_way *maker = context;
    maker->apart = tg_engine_launched_apart(process->engine);
    kill(process->pid, maker->signal);
}

static void take_exit(void *context, const struct tg_event *event)
{
    struct maker_of_way *maker = context;
    if (event->kind != TG_EVENT_PROCESS_EXIT)
        return;
    maker->exit = event->process_exit;
    maker->n_exits++;
}

static void test_end_of_a_launched_program_that_another_one_traces(void **state)
{
    (void)state;
    char *argv[] = {"sleep", "100", NULL};
    int status = 0;
    size_t slot;
    struct tg_engine *engine;
    struct maker_of_way maker = {.signal = SIGTERM};
    const struct tg_engine_options options = {.sink = {.context = &maker, .add = take_exit}};
    const struct tg_observer observer = {
        .name = "maker of way", .context = &maker, .stopped = make_way, .process_ended = kill_apart};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, former;
    sigaction(SIGCHLD, &ignore, &former); /* as a shell's `trap '' CHLD` leaves it */
    assert_null(tg_engine_create(&options, &engine));
    assert_null(tg_engine_add_observer(engine, &observer, &slot));
    pid_t launched;
    assert_null(tg_engine_launch(engine, argv, &launched));
    alarm(TOO_LONG_S);
    assert_null(tg_engine_run(engine, &status));
    alarm(0);
    assert_int_equal(maker.apart, launched);
    assert_int_equal(tg_engine_launched_apart(engine), 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(maker.n_exits, 1);
    assert_int_equal(maker.exit.how, TG_EXIT_SIGNAL);
    assert_int_equal(maker.exit.status, SIGTERM);
    tg_engine_destroy(engine);
    sigaction(SIGCHLD, &former, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_collected_early_while_detaching),
        cmocka_unit_test(test_end_of_a_launched_program_that_another_one_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
