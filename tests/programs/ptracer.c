/* A program that is a tracer itself: of a child that asks for it, of one that it seizes; and what it may
 * not. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void traced_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(errno);
        raise(SIGUSR1);
        execl("/bin/sh", "sh", "-c", "exit 31", (char *)NULL);
        _exit(127);
    }
    int status;
    int stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        printf("child stopped by %d\n", WSTOPSIG(status));
        stops++;
        ptrace(PTRACE_CONT, child, NULL, NULL);
    }
    printf("stops %d status %d\n", stops, WEXITSTATUS(status));
}

static void seized_child(void)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) {
        printf("seize: %s\n", strerror(errno));
    } else {
        int status;
        ptrace(PTRACE_INTERRUPT, child, NULL, NULL);
        waitpid(child, &status, 0);
        printf("seized: stopped %d event %d\n", WIFSTOPPED(status), status >> 16);
        ptrace(PTRACE_DETACH, child, NULL, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* As debuggers start programs: the child shares the parent's memory until it executes. */
static void traced_vfork_child(void)
{
    pid_t child = vfork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(1);
        execl("/bin/sh", "sh", "-c", "exit 32", (char *)NULL);
        _exit(127);
    }
    int status;
    int stops = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        stops++;
        ptrace(PTRACE_CONT, child, NULL, NULL);
    }
    printf("vfork: stops %d status %d\n", stops, WEXITSTATUS(status));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    traced_child();
    seized_child();
    traced_vfork_child();
    /* the usual check for a debugger; from here on a signal would stop the process */
    printf("traced by its own parent: %ld\n", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    return 14;
}
