/* Calls functions in ways that are hard on whoever steps over breakpoints at their first instructions.
 * Usage: stepping CASE. Standard output is the same however it is run; standard error says how often each
 * function was called: "calls FUNCTION N". */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Referred to from assembly, relative to RIP. */
__attribute__((used)) static long step_value = 40;
__attribute__((used)) static char step_table[16] = "0123456789abcde";
__attribute__((used)) static long step_two(void)
{
    return 2;
}
__attribute__((used)) static long (*step_pointer)(void) = step_two;

#define FUNCTION(name, code)                                                                                 \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n.balign 16\n" #name ":\n" code             \
            "\n.size " #name ", . - " #name "\n")
FUNCTION(step_load, "mov step_value(%rip), %rax\n ret");
FUNCTION(step_compare, "cmpq $40, step_value(%rip)\n sete %al\n movzbl %al, %eax\n ret");
FUNCTION(step_call, "call *step_pointer(%rip)\n ret"); /* 8 off the ABI's alignment: step_two needs none */
FUNCTION(step_jump, "jmp *step_pointer(%rip)");
FUNCTION(step_lea, "lea step_value(%rip), %rax\n ret");
FUNCTION(step_vector, "movups step_table(%rip), %xmm0\n movd %xmm0, %eax\n ret");
FUNCTION(step_zero, "xor %eax, %eax\n ret");
FUNCTION(step_push, "push %rbx\n mov %rdi, %rbx\n lock incq (%rbx)\n pop %rbx\n ret");
FUNCTION(step_lock, "lock incq step_counted(%rip)\n ret");
FUNCTION(step_rep, "rep movsb\n ret");
FUNCTION(step_syscall, "syscall\n ret");
long step_load(void), step_compare(void), step_call(void), step_jump(void), step_zero(void);
int step_vector(void);
long *step_lea(void);
void step_push(atomic_long *counter);
void step_lock(void);
void step_rep(char *to, const char *from, long ignored, long count);
void step_syscall(void); /* number in rax */

/* In shared memory where processes count together: */
__attribute__((used)) static atomic_long step_counted; /* by step_lock */
static atomic_long *shared_counts;                     /* [0] total of step_lock, [1] of step_syscall */

static void say(const char *function, long calls)
{
    fprintf(stderr, "calls %s %ld\n", function, calls);
}

static void check(bool holds, const char *what)
{
    if (!holds) {
        printf("WRONG: %s\n", what);
        exit(1);
    }
}

static long system_call(long number)
{
    long result;
    register long rcx __asm__("rcx");
    register long r11 __asm__("r11");
    /* The red zone is not used: the caller's frame is in a function that calls others. */
    __asm__ volatile("sub $128, %%rsp\n call step_syscall\n add $128, %%rsp"
                     : "=a"(result), "=r"(rcx), "=r"(r11)
                     : "0"(number), "D"(0L), "S"(0L), "d"(0L)
                     : "memory", "cc");
    check((r11 & 0x100) == 0, "a system call saw TF");
    return result;
}

/* ---- cases */

static void first_instructions(void)
{
    enum { CALLS = 50 };
    for (long i = 0; i < CALLS; i++) {
        check(step_load() == 40, "load");
        check(step_compare() == 1, "compare");
        check(step_call() == 2, "call");
        check(step_jump() == 2, "jump");
        check(step_lea() == &step_value, "lea");
        check(step_vector() == 0x33323130, "vector");
        check(step_zero() == 0, "zero");
        step_lock();
        check(system_call(SYS_getpid) == getpid(), "getpid");
    }
    static const char *const names[] = {"step_load",   "step_compare", "step_call", "step_jump",   "step_lea",
                                        "step_vector", "step_zero",    "step_lock", "step_syscall"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        say(names[i], CALLS);
    printf("every instruction did what it does\n");
}

enum { THREADS = 24, CALLS_PER_THREAD = 100 };
static atomic_long pushed;

static void *hammer(void *unused)
{
    for (int i = 0; i < CALLS_PER_THREAD; i++) {
        step_lock();
        step_push(&pushed);
    }
    return unused;
}

static void start_threads(pthread_t *threads, size_t count, void *(*run)(void *))
{
    for (size_t i = 0; i < count; i++)
        check(pthread_create(&threads[i], NULL, run, NULL) == 0, "pthread_create");
}

static void join_threads(const pthread_t *threads, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void threads_case(void)
{
    pthread_t threads[THREADS];
    start_threads(threads, THREADS, hammer);
    join_threads(threads, THREADS);
    check(step_counted == THREADS * CALLS_PER_THREAD, "a call was lost or made twice");
    check(pushed == THREADS * CALLS_PER_THREAD, "a call was lost or made twice");
    say("step_lock", step_counted);
    say("step_push", pushed);
    printf("%d threads made %ld calls\n", THREADS, (long)step_counted);
}

static long recursive_calls;
__attribute__((noinline)) long step_recursion(long depth);
__attribute__((noinline)) long step_recursion(long depth)
{
    recursive_calls++;
    return depth < 2 ? depth : step_recursion(depth - 1) + step_recursion(depth - 2);
}

static void recursion(void)
{
    printf("fib(12) is %ld\n", step_recursion(12));
    say("step_recursion", recursive_calls);
}

/* Seldom enough that a recorded step gets done between two signals. */
static void interrupt_often(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 500}, {0, 500}}, NULL);
}

static void never_again(void)
{
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

static atomic_long handled;
static void call_in_handler(int signal)
{
    (void)signal;
    handled++;
    step_lock();
}

/* Signals come before, in and after a step, and their handlers run into the same breakpoint. */
static void signals(void)
{
    enum { CALLS = 3000 };
    interrupt_often(call_in_handler);
    long calls = 0;
    for (; calls < CALLS || handled < 50; calls++)
        step_lock();
    never_again();
    check(step_counted == calls + handled, "a call was lost or made twice");
    say("step_lock", step_counted);
    printf("handlers and calls add up\n");
}

static char from[1 << 18], to[1 << 18];

/* A rep instruction is interrupted in the middle and goes on. */
static void repeat(void)
{
    enum { CALLS = 200 };
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + i / 256);
    interrupt_often(call_in_handler);
    for (int i = 0; i < CALLS; i++) {
        memset(to, 0, sizeof to);
        step_rep(to, from, 0, sizeof to);
        check(memcmp(to, from, sizeof to) == 0, "rep movsb");
    }
    never_again();
    say("step_rep", CALLS);
    printf("copied %d times\n", CALLS);
}

static jmp_buf back;
__attribute__((noinline)) void step_leave(int value);
__attribute__((noinline)) void step_leave(int value)
{
    longjmp(back, value);
}

static void jumps(void)
{
    volatile int rounds = 0;
    if (setjmp(back) < 300)
        step_leave(++rounds);
    say("step_leave", rounds);
    say("longjmp", rounds);
    printf("jumped %d times\n", rounds);
}

static sigjmp_buf out;
static void leave_handler(int signal)
{
    (void)signal;
    siglongjmp(out, 1);
}

/* Interrupted instructions that are never gone back to. Each signal is asked for when the one before has been left: on a machine
 * that is busy they would else come faster than they are left, one in the handler of the other. */
static void leave_by_signal(void)
{
    enum { ROUNDS = 100 };
    volatile int left = 0;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = leave_handler, .sa_flags = SA_RESTART}, NULL);
    if (sigsetjmp(out, 1) != 0)
        left++;
    if (left < ROUNDS) /* not before there is where to go */
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 500}}, NULL);
    while (left < ROUNDS) {
        step_lock();
        step_push(&pushed);
        (void)step_load();
    }
    printf("left %d times\n", left);
}

static atomic_bool enough;
static void *hammer_on(void *unused)
{
    while (!enough)
        step_lock();
    return unused;
}

/* A child of any kind: calls, counts, and ends. */
static void run_fork_child(void)
{
    step_counted = 0; /* the parent's is a copy */
    for (int i = 0; i < 20; i++)
        step_lock();
    shared_counts[0] += step_counted;
    (void)system_call(SYS_getpid);
    shared_counts[1]++;
    _exit(7);
}

static void wait_for_child(long child)
{
    int status = 0;
    check(waitpid((pid_t)child, &status, 0) == child, "waitpid");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child ended otherwise than it should");
}

/* Forks of every kind while other threads step. */
static void forks(void)
{
    enum { FORKS = 20 };
    shared_counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_t threads[3];
    start_threads(threads, 3, hammer_on);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0)
            run_fork_child();
        wait_for_child(child);
        long raw_child = system_call(SYS_fork);
        if (raw_child == 0)
            run_fork_child();
        shared_counts[1]++;
        wait_for_child(raw_child);
        child = vfork();
        if (child == 0) {
            step_lock(); /* counts in the parent's memory */
            _exit(7);
        }
        wait_for_child(child);
    }
    enough = true;
    join_threads(threads, 3);
    shared_counts[0] += step_counted;
    say("step_lock", shared_counts[0]);
    say("step_syscall", shared_counts[1]);
    printf("%d forks, %d raw forks and %d vforks\n", FORKS, FORKS, FORKS);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"first_instructions", first_instructions},
    {"threads", threads_case},
    {"recursion", recursion},
    {"signals", signals},
    {"repeat", repeat},
    {"jumps", jumps},
    {"leave_by_signal", leave_by_signal},
    {"forks", forks},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
