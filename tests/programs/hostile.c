/* Programs that make it hard for whoever controls them: `hostile HOW` does it, calls arrive in the end and
 * ends with 9, or says what is not as it would be without a tracer and ends with 1. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WELL = 9 };

static char **arguments;

/* Breakpoints are planted here. */
__attribute__((noinline)) void arrive(void)
{
    __asm__ volatile("" : : : "memory");
}

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static int become(const char *how)
{
    execl("/proc/self/exe", arguments[0], how, (char *)NULL);
    return fail("exec");
}

static int await(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail("waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == WELL ? 0 : fail("a child's status");
}

static int plain(void)
{
    arrive();
    return WELL;
}

/* A line without an end, and many of them. */
static int lines(void)
{
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 64; i++)
        fwrite(block, 1, sizeof block, stdout);
    for (int i = 0; i < 100000; i++)
        puts("\033[2J\033]0;owned\007 a line");
    fflush(stdout);
    return plain();
}

static int spread(int depth)
{
    pid_t children[2];
    for (int i = 0; depth > 0 && i < 2; i++) {
        children[i] = fork();
        if (children[i] < 0)
            return fail("fork");
        if (children[i] == 0)
            _exit(spread(depth - 1));
    }
    for (int i = 0; depth > 0 && i < 2; i++)
        if (await(children[i]) != 0)
            return 1;
    return WELL;
}

/* 127 processes, most of them at the same time. */
static int forks(void)
{
    return spread(6) == WELL ? plain() : 1;
}

/* Traces a child of its own. */
static int traces(void)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(WELL);
    }
    if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
        return fail("the traced child");
    if (ptrace(PTRACE_CONT, child, NULL, NULL) != 0)
        return fail("PTRACE_CONT");
    return await(child) == 0 ? plain() : 1;
}

/* All signals blocked, SIGTRAP as well, which kills where it comes by an instruction. */
static int blocked(void)
{
    sigset_t all, now;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    raise(SIGTERM);
    raise(SIGINT);
    arrive();
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGTRAP) == 1 && sigismember(&now, SIGTERM) == 1 ? WELL : fail("the mask");
}

static void *execute(void *how)
{
    become(how);
    _exit(1);
}

static void *stay(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Neither the first thread nor the others are left then. */
static int executes(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, i < 7 ? stay : execute, "plain") != 0)
            return fail("pthread_create");
    stay(NULL);
    return 1;
}

static int vforks(void)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/proc/self/exe", arguments[0], "blocked", (char *)NULL);
        _exit(1);
    }
    return await(child) == 0 ? plain() : 1;
}

/* The grandchild is nobody's: its parent has ended, it has a session of its own, and no files. */
static int daemons(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return fail("pipe");
    if (fork() == 0) {
        setsid();
        if (fork() > 0)
            _exit(0);
        prctl(PR_SET_NAME, "\033[5m\ndaemon");
        for (int i = 0; i < ends[1]; i++)
            close(i);
        (void)plain();
        _exit(WELL);
    }
    close(ends[1]);
    while (wait(NULL) > 0)
        ;
    return read(ends[0], &byte, 1) == 0 ? WELL : fail("the daemon");
}

static int closes(void)
{
    struct rlimit none = {0};
    for (int i = 0; i < 1024; i++)
        close(i);
    setrlimit(RLIMIT_NOFILE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    return plain();
}

/* Another user, who may not be looked at. */
static int becomes_another(void)
{
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        return fail("setresuid");
    prctl(PR_SET_DUMPABLE, 0);
    return plain();
}

/* Stops itself again and again; somebody else continues it. */
static int stops(void)
{
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            kill(parent, SIGSTOP);
            kill(parent, SIGCONT);
        }
        _exit(WELL);
    }
    return await(child) == 0 ? plain() : 1;
}

/* Says what it was given: signals that are blocked or ignored, open files. */
static int inherits(void)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action;
        if (sigismember(&mask, signal) == 1)
            printf("signal %d is blocked\n", signal);
        if (sigaction(signal, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            printf("signal %d is ignored\n", signal);
    }
    for (int i = 3; i < 1024; i++)
        if (fcntl(i, F_GETFD) >= 0)
            printf("file %d is open\n", i);
    fflush(stdout);
    return plain();
}

static void *wait_for_event(void *file)
{
    struct epoll_event event = {.events = EPOLLIN};
    int poll = epoll_create1(0);
    epoll_ctl(poll, EPOLL_CTL_ADD, *(int *)file, &event);
    return epoll_wait(poll, &event, 1, -1) == 1 ? file : NULL;
}

static void *wait_for_signal(void *signals)
{
    return sigwaitinfo(signals, NULL) == SIGUSR1 ? signals : NULL;
}

/* Waits without limit by calls that the kernel does not restart: nothing of the program interrupts them. */
static int waits(void)
{
    pthread_t threads[2];
    void *well[2];
    sigset_t signals;
    int ends[2];
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    if (pipe(ends) != 0 || pthread_create(&threads[0], NULL, wait_for_event, &ends[0]) != 0 ||
        pthread_create(&threads[1], NULL, wait_for_signal, &signals) != 0)
        return fail("pthread_create");
    arrive();
    pthread_kill(threads[1], SIGUSR1);
    if (write(ends[1], "", 1) != 1)
        return fail("write");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &well[i]);
    return well[0] != NULL && well[1] != NULL ? WELL : fail("a wait");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } ways[] = {{"plain", plain},     {"lines", lines},
                {"forks", forks},     {"traces", traces},
                {"blocked", blocked}, {"executes", executes},
                {"vforks", vforks},   {"daemons", daemons},
                {"closes", closes},   {"another", becomes_another},
                {"stops", stops},     {"inherits", inherits},
                {"waits", waits}};
    arguments = argv;
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            return ways[i].run();
    return 2;
}
