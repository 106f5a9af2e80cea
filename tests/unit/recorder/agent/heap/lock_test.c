#include "recorder/agent/heap/lock.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <signal.h>
#include <string.h>
#include <ucontext.h>

enum { STACK_BYTES = 1 << 16 };

static volatile uint64_t generation = 1;
struct tg_agent tg_agent = {.generation = &generation};

static struct tg_heap_lock lock;
static bool got; /* the lock, the second time */
static sigjmp_buf away;
static ucontext_t here, elsewhere;

__attribute__((noinline)) static bool take(void)
{
    bool taken = tg_heap_lock_take(&lock);
    __asm__ volatile("" ::: "memory");
    return taken;
}

static void take_and_return(void)
{
    got = take();
}

/* Runs RUN on STACK, and comes back. */
static void run_on(char *stack, void (*run)(void))
{
    getcontext(&elsewhere);
    elsewhere.uc_stack.ss_sp = stack;
    elsewhere.uc_stack.ss_size = STACK_BYTES;
    elsewhere.uc_link = &here;
    makecontext(&elsewhere, run, 0);
    swapcontext(&here, &elsewhere);
}

static char *other_stack; /* for the handler */

static void change_stacks(int number)
{
    (void)number;
    run_on(other_stack, take_and_return);
}

static void take_here(int number)
{
    (void)number;
    take_and_return();
}

static void leave(int number)
{
    (void)number;
    siglongjmp(away, 1);
}

/* A signal comes while this function has the lock. */
__attribute__((noinline)) static void be_interrupted(void)
{
    assert_true(tg_heap_lock_take(&lock));
    raise(SIGUSR1);
    tg_heap_lock_release(&lock);
}

static void is_refused(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGUSR1, &action, NULL);
    got = true;
    be_interrupted();
    assert_false(got);
    assert_true(take());
    tg_heap_lock_release(&lock);
}

static void a_handler_does_not_get_it(void **state)
{
    (void)state;
    is_refused(take_here, 0);
}

/* On stacks that lie above the holder's, and below it. */
static void a_handler_that_changes_stacks_does_not_get_it(void **state)
{
    static char of_program[STACK_BYTES];
    char above[STACK_BYTES];
    (void)state;
    other_stack = above;
    is_refused(change_stacks, 0);
    other_stack = of_program;
    is_refused(change_stacks, 0);
}

/* The kernel says nothing of the alternate stack to who is on it. */
static void a_handler_on_a_disarmed_stack_does_not_get_it(void **state)
{
    char above[STACK_BYTES];
    const stack_t stack = {
        .ss_sp = above, .ss_size = sizeof above, .ss_flags = (int)(1U << 31)}; /* SS_AUTODISARM */
    const stack_t none = {.ss_flags = SS_DISABLE};
    (void)state;
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    is_refused(take_here, SA_ONSTACK);
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* The holder was left by siglongjmp: whoever comes to its frame again gets the lock. */
static void who_was_left_does_not_keep_it(void **state)
{
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
    (void)state;
    sigaction(SIGUSR1, &action, NULL);
    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(away, 1) == 0)
            be_interrupted();
    char room[4096];
    memset(room, 1, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
    assert_true(take());
    tg_heap_lock_release(&lock);
}

static void take_for_good(void)
{
    (void)take();
}

/* The holder's stack is no more. */
static void who_has_no_stack_does_not_keep_it(void **state)
{
    (void)state;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(stack, MAP_FAILED);
    run_on(stack, take_for_good);
    munmap(stack, STACK_BYTES);
    assert_true(take());
    tg_heap_lock_release(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_does_not_get_it),
        cmocka_unit_test(a_handler_that_changes_stacks_does_not_get_it),
        cmocka_unit_test(a_handler_on_a_disarmed_stack_does_not_get_it),
        cmocka_unit_test(who_was_left_does_not_keep_it),
        cmocka_unit_test(who_has_no_stack_does_not_keep_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
