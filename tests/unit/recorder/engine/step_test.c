#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/engine/engine_internal.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* come() arrives at `place` with the same registers each time. What is there is no instruction whose effect the
 * engine computes by itself: it is displaced. */
void come(void);
extern const char place[];

__asm__("come:\n"
        "    push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "    xor %ebx, %ebx\n xor %ebp, %ebp\n xor %r12d, %r12d\n xor %r13d, %r13d\n xor %r14d, %r14d\n"
        "    xor %r15d, %r15d\n xor %ecx, %ecx\n xor %edx, %edx\n xor %esi, %esi\n xor %edi, %edi\n"
        "    xor %r8d, %r8d\n xor %r9d, %r9d\n xor %r10d, %r10d\n xor %r11d, %r11d\n xor %eax, %eax\n"
        "place:\n"
        "    bswap %eax\n"
        "    pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "    ret\n");

enum { TOO_LONG_S = 30, ARRIVALS = 3 };

static void return_at_once(int signal)
{
    (void)signal;
}

/* Stops itself until it is attached to, then comes to the place ARRIVALS times; SIGUSR2 in between. */
static pid_t start_program(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    alarm(2 * TOO_LONG_S);
    signal(SIGUSR1, return_at_once);
    signal(SIGUSR2, return_at_once);
    raise(SIGSTOP);
    for (volatile int i = 0; i < ARRIVALS; i++) {
        come();
        raise(SIGUSR2);
    }
    _exit(0);
}

struct guard {
    struct tg_breakpoint *breakpoint; /* at `place`, NULL none */
    unsigned hits;
    bool lifts; /* when the signal comes that interrupts the step at the first hit */
};

static void hit(void *context, struct tg_thread *thread, struct tg_breakpoint *breakpoint)
{
    struct guard *guard = context;
    (void)breakpoint;
    if (guard->hits++ == 0)
        syscall(SYS_tgkill, thread->process->pid, thread->tid, SIGUSR1);
}

static void plant(struct guard *guard, struct tg_process *process)
{
    if (guard->breakpoint == NULL)
        assert_null(tg_breakpoint_plant(process, (uint64_t)(uintptr_t)place, TG_BREAKPOINT_USER, hit, guard,
                                        &guard->breakpoint));
}

static void loaded(void *context, struct tg_thread *thread, bool attached)
{
    (void)attached;
    plant(context, thread->process);
}

static void stopped(void *context, struct tg_thread *thread, const struct tg_stop *stop)
{
    struct guard *guard = context;
    if (stop->trigger != TG_TRIGGER_SIGNAL)
        return;
    if (stop->signal == SIGUSR1 && guard->lifts) {
        tg_breakpoint_remove(thread->process, guard->breakpoint);
        guard->breakpoint = NULL;
    }
    if (stop->signal == SIGUSR2)
        plant(guard, thread->process);
}

static void ignore_event(void *context, const struct tg_event *event)
{
    (void)context;
    (void)event;
}

static unsigned hits_of(bool lifts)
{
    const struct tg_engine_options options = {.sink = {.add = ignore_event}};
    struct guard guard = {.lifts = lifts};
    const struct tg_observer observer = {
        .name = "guard", .context = &guard, .program_loaded = loaded, .stopped = stopped};
    struct tg_engine *engine;
    size_t slot;
    int status;
    pid_t pid = start_program();
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_null(tg_engine_create(&options, &engine));
    assert_null(tg_engine_add_observer(engine, &observer, &slot));
    assert_null(tg_engine_attach(engine, pid));
    kill(pid, SIGCONT);
    alarm(TOO_LONG_S);
    assert_null(tg_engine_run(engine, NULL));
    alarm(0);
    tg_engine_destroy(engine);
    return guard.hits;
}

/* The instruction under the int3 was interrupted by a signal before it ran: after the signal's handler it is
 * the same hit. */
static void test_interrupted_instruction_hits_once(void **state)
{
    (void)state;
    assert_int_equal(hits_of(false), ARRIVALS);
}

/* The int3 is taken away before the instruction runs once more, and another planted there later: it is hit by
 * whoever comes, also in the same state as the one that was interrupted. */
static void test_hit_of_later_breakpoint_is_no_repetition(void **state)
{
    (void)state;
    assert_int_equal(hits_of(true), ARRIVALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted_instruction_hits_once),
        cmocka_unit_test(test_hit_of_later_breakpoint_is_no_repetition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
