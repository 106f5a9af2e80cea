#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine_internal.h"
#include "recorder/engine/parked.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stop_collected_early_while_detaching)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
