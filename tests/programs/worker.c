/* A busy process to attach to: threads that compute and check what they computed, threads that wait in system
 * calls without end, threads and children that come and go. Says "ready PID", works until its standard
 * input ends, then says whether everything was as it should be. Exit status 0: it was. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool stop;
static bool stoppable; /* SIGSTOP and SIGCONT end some waits with EINTR */
static atomic_long faults, computed, created, forked;
static uint32_t table[16];

static void complain(const char *what)
{
    atomic_fetch_add(&faults, 1);
    fprintf(stdout, "%s: %s\n", what, strerror(errno));
}

/* Breakpoints are planted here: on the first instruction and on others. */
__attribute__((noinline)) uint32_t work(uint32_t x)
{
    uint32_t sum = table[x & 15];
    for (int i = 0; i < 3; i++)
        sum = sum * 31 + (x >> i);
    return sum;
}

static uint32_t expected(uint32_t x)
{
    uint32_t sum = (x & 15) * 2654435761u;
    sum = sum * 31 + x;
    sum = sum * 31 + (x >> 1);
    return sum * 31 + (x >> 2);
}

static void *compute(void *argument)
{
    for (uint32_t x = (uint32_t)(uintptr_t)argument; !stop; x += 7) {
        if (work(x) != expected(x))
            complain("wrong result");
        atomic_fetch_add(&computed, 1);
        if (x % 64 == 0)
            usleep(50);
    }
    return NULL;
}

static int wake_ends[2];

static void *wait_in_epoll(void *argument)
{
    (void)argument;
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, wake_ends[0], &event);
    int count;
    do
        count = epoll_wait(set, &event, 1, -1);
    while (count < 0 && errno == EINTR && stoppable);
    if (count != 1)
        complain("epoll_wait");
    return NULL;
}

static void *wait_for_signal(void *argument)
{
    siginfo_t info;
    int signal;
    do
        signal = sigwaitinfo(argument, &info);
    while (signal < 0 && errno == EINTR && stoppable);
    if (signal != SIGUSR1)
        complain("sigwaitinfo");
    return NULL;
}

static void *wait_in_read(void *argument)
{
    char byte;
    (void)argument;
    if (read(wake_ends[0], &byte, 1) != 0)
        complain("read");
    return NULL;
}

static void *nothing(void *argument)
{
    return argument;
}

static void *create_threads(void *argument)
{
    while (!stop) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
            complain("thread");
        atomic_fetch_add(&created, 1);
        usleep(300);
    }
    return argument;
}

static void *create_children(void *argument)
{
    while (!stop) {
        pid_t child = fork();
        if (child == 0)
            _exit(work(5) == expected(5) ? 3 : 4);
        int status;
        if (waitpid(child, &status, 0) != child)
            complain("waitpid");
        else if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) {
            errno = WIFEXITED(status) ? 0 : WTERMSIG(status);
            complain("child");
        }
        atomic_fetch_add(&forked, 1);
        usleep(700);
    }
    return argument;
}

int main(int argc, char **argv)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    stoppable = argc > 1 && strcmp(argv[1], "stoppable") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    /* Under a tracer ignored signals wake threads too, and another thread may take the signal from the one
     * that it woke: an EINTR that no tracer sees (docs/decisions.md). */
    sigset_t quiet = usr1;
    sigaddset(&quiet, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &quiet, NULL);
    for (uint32_t i = 0; i < 16; i++)
        table[i] = i * 2654435761u;
    if (pipe(wake_ends) != 0)
        return 1;
    void *(*const jobs[THREADS])(void *) = {compute,         compute,      wait_in_epoll,  compute,
                                            wait_for_signal, wait_in_read, create_threads, create_children};
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, jobs[i], i == 4 ? (void *)&usr1 : (void *)i);
    while (computed == 0 || created == 0 || forked == 0) /* every job has begun before anybody looks */
        sched_yield();
    printf("ready %d\n", (int)getpid());
    char byte;
    ssize_t n = read(0, &byte, 1);
    if (n != 0)
        complain("standard input");
    stop = true;
    close(wake_ends[1]);
    pthread_kill(threads[4], SIGUSR1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%s\n", computed > 0 && created > 0 && forked > 0 ? "worked" : "did nothing");
    printf("faults %ld\n", atomic_load(&faults));
    return faults == 0 ? 0 : 1;
}
