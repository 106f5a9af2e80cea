/* What makes an observer's life hard: allocations in handlers, around fork, in threads that come and go. Prints what it counts,
 * which is the same with and without an observer. usage: heap_hardship ACTION */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 16 };

extern char **environ;

static void *keep(void *block)
{
    void *volatile kept = block;
    return kept;
}

/* ---- allocations in signal handlers: a library's allocator that may be called there is linked with it */

static volatile long in_handlers;
static ucontext_t handlers_own, other;
static char other_stack[STACK_BYTES];

static void handle(int number)
{
    (void)number;
    free(keep(malloc(3000)));
    void *block = keep(realloc(keep(malloc(3010)), 3020));
    free(block);
    in_handlers++;
}

static void change_stacks(int number)
{
    getcontext(&other);
    other.uc_stack.ss_sp = other_stack;
    other.uc_stack.ss_size = sizeof other_stack;
    other.uc_link = &handlers_own;
    makecontext(&other, (void (*)(void))handle, 1, number);
    swapcontext(&handlers_own, &other);
}

/* Until the timer has come 600 times. */
static void do_timer(void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};
    const struct itimerval each = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};
    void *blocks[64] = {NULL};
    long pairs = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    for (; in_handlers < 600; pairs++) {
        for (volatile int i = 0; i < 1000; i++)
            continue;
        free(blocks[pairs % 64]);
        blocks[pairs % 64] = keep(malloc((size_t)pairs % 500));
    }
    setitimer(ITIMER_REAL, &none, NULL);
    for (size_t i = 0; i < 64; i++)
        free(blocks[i]);
    fprintf(stderr, "%ld %ld\n", pairs, in_handlers);
}

static void do_handlers(void)
{
    do_timer(handle, 0);
}

static void do_contexts(void)
{
    do_timer(change_stacks, 0);
}

static void do_alternate(void)
{
    const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack, .ss_flags = (int)(1U << 31)};
    sigaltstack(&stack, NULL); /* SS_AUTODISARM */
    do_timer(handle, SA_ONSTACK);
}

/* ---- processes */

static void *of_fork;

static void prepare(void)
{
    of_fork = keep(malloc(4000));
}

static void after(void)
{
    free(of_fork);
    free(keep(malloc(4010)));
}

static void *allocate_for_ever(void *over)
{
    while (!__atomic_load_n((int *)over, __ATOMIC_RELAXED)) {
        free(keep(malloc(100)));
        for (volatile int i = 0; i < 10000; i++) /* a recorder that is behind would be what this tries */
            continue;
    }
    return NULL;
}

/* Forks while other threads allocate: handlers before and after, and the child's own blocks. */
static void do_atfork(void)
{
    int over = 0, sum = 0;
    pthread_t threads[3];
    pthread_atfork(prepare, after, after);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, allocate_for_ever, &over);
    for (int i = 0; i < 20; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            for (int j = 0; j < 100; j++)
                free(keep(malloc(4020)));
            _exit(i);
        }
        waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", sum);
}

static void do_spawn(void)
{
    char *arguments[] = {"sh", "-c", "exit 3", NULL};
    volatile int sum = 0;
    for (volatile int i = 0; i < 20; i++) {
        int status = 0;
        pid_t pid = vfork();
        if (pid == 0) {
            execv("/bin/sh", arguments);
            _exit(1);
        }
        waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
        free(keep(malloc(5000)));
        if (posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) == 0)
            waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
        pid = vfork();
        if (pid == 0)
            _exit(1);
        waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
    }
    printf("%d\n", sum);
}

/* ---- threads */

static pthread_key_t key;
static void *shared[64]; /* __atomic */

static void at_end(void *block)
{
    free(block);
    free(keep(malloc(6010)));
}

static void *come_and_go(void *number)
{
    size_t n = (size_t)number;
    pthread_setspecific(key, malloc(6000));
    for (size_t i = 0; i < 50; i++)
        free(__atomic_exchange_n(&shared[(n + i) % 64], keep(malloc(6020)), __ATOMIC_ACQ_REL));
    return NULL;
}

/* 200 at a time, five times; each frees what others allocated. */
static void do_threads(void)
{
    pthread_t threads[200];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 17);
    pthread_key_create(&key, at_end);
    for (size_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < 200; i++)
            if (pthread_create(&threads[i], &attributes, come_and_go, (void *)i) != 0) // NOLINT: a number
                exit(1);
        for (size_t i = 0; i < 200; i++)
            pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < 64; i++)
        free(shared[i]);
    puts("gone");
}

/* ---- before the program */

static int one(void)
{
    return 1;
}

static int (*choose(void))(void)
{
    free(keep(malloc(7000)));
    return one;
}

int chosen(void) __attribute__((ifunc("choose")));

static void do_resolver(void)
{
    printf("%d\n", chosen());
}

/* ---- without end, until it is killed */

static void do_ever(void)
{
    puts("ready");
    fflush(stdout);
    for (;;)
        free(keep(malloc(100)));
}

/* Takes what it gets, up to 200 MiB, a MiB at a time. */
static void do_fill(void)
{
    int got = 0;
    for (; got < 200; got++) {
        char *block = malloc(1 << 20);
        if (block == NULL)
            break;
        memset(keep(block), 1, 1 << 20);
    }
    puts("filled");
}

static void do_few(void)
{
    for (size_t i = 0; i < 20000; i++)
        free(keep(malloc(i % 1000)));
    puts("few");
}

static void do_many(void)
{
    for (size_t i = 0; i < 500000; i++)
        free(keep(malloc(i * 7 % 1000)));
    puts("many");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } actions[] = {{"handlers", do_handlers}, {"contexts", do_contexts}, {"alternate", do_alternate},
                   {"atfork", do_atfork},     {"spawn", do_spawn},       {"threads", do_threads},
                   {"resolver", do_resolver}, {"ever", do_ever},         {"fill", do_fill},
                   {"few", do_few},           {"many", do_many}};
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (argc > 1 && strcmp(actions[i].name, argv[1]) == 0)
            actions[i].run();
    return 5;
}
