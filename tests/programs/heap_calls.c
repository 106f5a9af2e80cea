/* Calls the C family of the heap, each function a hundred times with sizes of its own, and other things that a program
 * may do with its heap. usage: heap_calls ACTION... */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { TIMES = 100, THREADS = 20 };

static void *keep(void *block)
{
    void *volatile kept =
        block; /* the compiler must not know what becomes of a block; of each thread its own */
    return kept;
}

__attribute__((noinline)) static void *innermost(size_t size)
{
    void *block = malloc(size);
    return keep(block);
}

__attribute__((noinline)) static void *middle(size_t size)
{
    void *block = innermost(size);
    return keep(block);
}

/* Aligns its stack, so that its CFA is in memory. */
__attribute__((noinline)) static void *outermost(size_t size)
{
    char room[64] __attribute__((aligned(64)));
    memset(room, (int)size, sizeof room);
    void *block = middle(size);
    __asm__ volatile("" ::"r"(room) : "memory");
    return keep(block);
}

static void do_calls(void)
{
    for (int i = 0; i < TIMES; i++) {
        void *block = NULL;
        free(outermost(1000));
        free(keep(calloc(10, 101)));
        block = keep(realloc(keep(malloc(1020)), 1030));
        block = keep(realloc(block, 100000 + (size_t)i)); /* moves, for there is one behind it now and then */
        free(keep(block));
        free(keep(reallocarray(NULL, 10, 104)));
        if (posix_memalign(&block, 256, 1050) != 0)
            exit(1);
        free(keep(block));
        free(keep(aligned_alloc(64, 1088)));
        free(keep(memalign(32, 1070)));
        free(keep(valloc(1080)));
        free(keep(pvalloc(1090)));
        free(keep(strdup("a text of twenty-two .")));
        if (malloc_usable_size(keep(block = malloc(1100))) < 1100)
            exit(2);
        free(keep(block));
        free(keep(malloc(0)));
        free(NULL);
        block = keep(malloc(1110));
        if (realloc(block, 0) != NULL)
            exit(3);
    }
}

static void show(const char *what, void *block)
{
    printf("%s: %s, %s\n", what, block == NULL ? "NULL" : "a block", strerror(errno));
    errno = 0;
}

static void do_failures(void)
{
    const struct rlimit little = {.rlim_cur = 512 << 20, .rlim_max = RLIM_INFINITY};
    volatile size_t huge = (size_t)1 << 60;
    void *block = keep(malloc(77)), *aligned = block;
    errno = 0;
    show("malloc", malloc(huge));
    show("calloc", calloc(huge, 32));
    show("realloc", realloc(block, huge));
    show("reallocarray", reallocarray(block, huge, 32));
    show("aligned_alloc", aligned_alloc(64, huge));
    printf("posix_memalign: %d", posix_memalign(&aligned, 64, huge));
    printf(", %d, %s\n", posix_memalign(&aligned, 3, 100), aligned == block ? "untouched" : "changed");
    setrlimit(RLIMIT_AS, &little);
    size_t n = 0;
    while (keep(malloc(1 << 20)) != NULL)
        n++;
    printf("%s after some MiB: %s\n", strerror(errno), n > 100 && n < 512 ? "yes" : "no");
}

static pthread_key_t key;

static void at_end(void *block)
{
    free(block);
    free(keep(malloc(2020)));
}

static void *run_thread(void *unused)
{
    pthread_setspecific(key, malloc(2010));
    for (int i = 0; i < TIMES; i++)
        free(keep(malloc(2000)));
    return unused;
}

static void do_threads(void)
{
    pthread_t threads[THREADS];
    pthread_key_create(&key, at_end);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void do_fork(void)
{
    void *parents = keep(malloc(3000));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        free(parents);
        for (int i = 0; i < TIMES; i++)
            free(outermost(3010));
        _exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    printf("child: %d\n", WEXITSTATUS(status));
    free(parents);
}

static void handle(int signal)
{
    (void)signal;
    free(keep(malloc(4000)));
}

/* On the stack of the thread, and on one of its own. */
static void do_signals(void)
{
    static char stack[1 << 16];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    sigaltstack(&other, NULL);
    for (int i = 0; i < TIMES / 2; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
    }
}

static ucontext_t back, coroutine;

static void run_coroutine(void)
{
    for (int i = 0; i < TIMES; i++)
        free(outermost(5000));
}

static void do_coroutine(void)
{
    static char stack[1 << 16];
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = sizeof stack;
    coroutine.uc_link = &back;
    makecontext(&coroutine, run_coroutine, 0);
    swapcontext(&back, &coroutine);
}

static const struct {
    const char *name;
    void (*run)(void);
} actions[] = {
    {"calls", do_calls}, {"failures", do_failures}, {"threads", do_threads},
    {"fork", do_fork},   {"signals", do_signals},   {"coroutine", do_coroutine},
};

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof actions / sizeof actions[0]; k++)
            if (strcmp(argv[i], actions[k].name) == 0)
                actions[k].run();
    for (char **variable = environ; *variable != NULL; variable++)
        if (strstr(*variable, "tollgate-") != NULL || strstr(*variable, "TOLLGATE_") != NULL)
            puts(*variable);
    puts("done");
    return 5;
}
