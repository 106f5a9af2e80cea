/* Processes that create processes in all ways there are: fork trees, vfork, posix_spawn, clone that shares
 * memory, orphans, zombies. `families exec N` is what the exec tests run. Output does not depend on
 * scheduling. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int wait_status(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* A tree of forks; the exit status counts what is below, in steps of one, wrapping. */
static int tree(int depth)
{
    int below = 1;
    if (depth == 0)
        return below;
    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(tree(depth - 1));
    }
    for (int i = 0; i < 3; i++)
        below += WEXITSTATUS(wait_status(children[i]));
    return below & 0xff;
}

static void storm(void)
{
    int sum = 0;
    for (int i = 0; i < 200; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(i & 1);
        sum += WEXITSTATUS(wait_status(child));
    }
    printf("storm: %d\n", sum);
}

static volatile int shared;

static int in_clone(void *argument)
{
    shared = *(int *)argument;
    return 9;
}

static void sharing_clone(void)
{
    enum { STACK = 65536 };
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int value = 77;
    pid_t child = clone(in_clone, stack + STACK, CLONE_VM | SIGCHLD, &value);
    int status = wait_status(child);
    printf("clone with CLONE_VM: shared %d status %d\n", shared, WEXITSTATUS(status));
    child = clone(in_clone, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, &value);
    status = wait_status(child);
    printf("clone with CLONE_VFORK: status %d\n", WEXITSTATUS(status));
    signal(SIGUSR1, SIG_IGN);
    child = clone(in_clone, stack + STACK, SIGUSR1, &value); /* no SIGCHLD: __WCLONE waits for it */
    waitpid(child, &status, __WCLONE);
    printf("clone without SIGCHLD: status %d\n", WEXITSTATUS(status));
    munmap(stack, STACK);
}

static void vfork_and_spawn(const char *self)
{
    for (volatile int i = 0; i < 20; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execl(self, self, "exec", "11", (char *)NULL);
            _exit(127);
        }
        int status = wait_status(child);
        if (WEXITSTATUS(status) != 11)
            printf("vfork: status 0x%x\n", status);
    }
    pid_t child = vfork();
    if (child == 0)
        _exit(12);
    printf("vfork and exit: %d\n", WEXITSTATUS(wait_status(child)));
    char *argv[] = {(char *)self, (char *)"exec", (char *)"13", NULL};
    if (posix_spawn(&child, self, NULL, NULL, argv, environ) == 0)
        printf("posix_spawn: %d\n", WEXITSTATUS(wait_status(child)));
    int error = posix_spawn(&child, "/does/not/exist", NULL, NULL, argv, environ);
    printf("posix_spawn of nothing: %s\n", strerror(error));
    printf("system: %d\n", WEXITSTATUS(system("exit 14")));
}

/* A grandchild outlives its parent and is inherited by the first process. */
static void orphans(void)
{
    int ends[2];
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (pipe(ends) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        pid_t middle = getpid();
        if (fork() == 0) {
            while (getppid() == middle)
                usleep(200);
            char byte = 'o';
            _exit(write(ends[1], &byte, 1) == 1 ? 15 : 1);
        }
        _exit(0);
    }
    wait_status(child);
    char byte = 0;
    if (read(ends[0], &byte, 1) != 1)
        byte = '?';
    int status;
    pid_t orphan = wait(&status);
    printf("orphan: %c inherited %d status %d\n", byte, orphan != child, WEXITSTATUS(status));
}

static void deaths(void)
{
    const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGHUP, SIGPIPE, SIGALRM, SIGUSR2};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        pid_t child = fork();
        if (child == 0) {
            signal(signals[i], SIG_DFL);
            for (;;)
                pause();
        }
        kill(child, signals[i]);
        int status = wait_status(child);
        printf("killed by %d: %d\n", signals[i], WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    }
    pid_t child = fork(); /* stays a zombie until looked at */
    if (child == 0)
        _exit(16);
    siginfo_t info = {0};
    waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    printf("zombie: code %d status %d reaped %d\n", info.si_code, info.si_status, wait_status(child) >> 8);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "exec") == 0)
        return atoi(argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("tree: %d\n", tree(3));
    storm();
    sharing_clone();
    vfork_and_spawn("/proc/self/exe");
    orphans();
    deaths();
    return 4;
}
