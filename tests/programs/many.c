/* Much of one kind, for what a long session may keep of it: `many threads COUNT`, `many processes COUNT`,
 * `many calls COUNT THREADS` (of come_by, by each thread), `many programs COUNT` (that execute this one).
 * half_way is called when half of them have been, done at the end. */
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long count;
extern char **environ;

/* Breakpoints are planted in these three. */
__attribute__((noinline)) void come_by(long value)
{
    __asm__ volatile("" : : "r"(value) : "memory");
}

__attribute__((noinline)) void half_way(void)
{
    __asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) void done(void)
{
    __asm__ volatile("" : : : "memory");
}

static void *nothing(void *argument)
{
    come_by((intptr_t)argument);
    return NULL;
}

static void begin_and_end_thread(long i)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, (void *)(intptr_t)i) != 0)
        exit(1);
    pthread_join(thread, NULL);
}

static void begin_and_end_process(long i)
{
    pid_t child = fork();
    if (child == 0) {
        come_by(i);
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        exit(1);
}

static void begin_and_end_program(long i)
{
    char name[32];
    pid_t child;
    snprintf(name, sizeof name, "program-%ld", i);
    char *const argv[] = {name, NULL};
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) != 0 ||
        waitpid(child, NULL, 0) != child)
        exit(1);
}

static void *call(void *argument)
{
    (void)argument;
    for (long i = 0; i < count / 2; i++)
        come_by(i);
    return NULL;
}

/* Each thread half of its calls. */
static void call_in(int n_threads)
{
    pthread_t threads[n_threads];
    for (int i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, call, NULL) != 0)
            exit(1);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
}

static void do_half(const char *kind, int n_threads)
{
    if (strcmp(kind, "calls") == 0) {
        call_in(n_threads);
        return;
    }
    for (long i = 0; i < count / 2; i++)
        if (strcmp(kind, "threads") == 0)
            begin_and_end_thread(i);
        else if (strcmp(kind, "processes") == 0)
            begin_and_end_process(i);
        else
            begin_and_end_program(i);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 0;
    count = atol(argv[2]);
    int n_threads = argc > 3 ? atoi(argv[3]) : 1;
    do_half(argv[1], n_threads);
    half_way();
    do_half(argv[1], n_threads);
    done();
    return 7;
}
