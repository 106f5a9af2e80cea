/* Job control as a parent sees it: stopped, continued and killed children, one and many threads. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void *idle(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static const char *describe(int status)
{
    static char text[64];
    if (WIFSTOPPED(status))
        snprintf(text, sizeof text, "stopped by %d", WSTOPSIG(status));
    else if (WIFCONTINUED(status))
        snprintf(text, sizeof text, "continued");
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "killed by %d", WTERMSIG(status));
    else
        snprintf(text, sizeof text, "exited with %d", WEXITSTATUS(status));
    return text;
}

static void await(pid_t child, const char *what)
{
    int status;
    while (waitpid(child, &status, WUNTRACED | WCONTINUED) < 0)
        if (errno != EINTR) {
            printf("%s: nothing\n", what);
            return;
        }
    printf("%s: %s\n", what, describe(status));
}

/* Stops from outside; stays stopped through other signals until SIGCONT. */
static void stopped_by_parent(int threads, int signal)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        for (int i = 1; i < threads; i++)
            pthread_create(&thread, NULL, idle, NULL);
        if (write(ready[1], "r", 1) != 1)
            _exit(1);
        idle(NULL);
    }
    if (read(ready[0], &byte, 1) != 1)
        return;
    for (int i = 0; i < 5; i++) {
        kill(child, signal);
        await(child, "stop");
        kill(child, SIGUSR1 == signal ? 0 : SIGWINCH); /* does not wake it */
        int status;
        printf("still stopped: %d\n", waitpid(child, &status, WNOHANG | WCONTINUED) == 0);
        kill(child, SIGCONT);
        await(child, "continue");
    }
    kill(child, signal);
    await(child, "stop");
    kill(child, SIGKILL);
    await(child, "kill");
}

static void stops_itself(void)
{
    int told[2];
    char byte = 'g';
    if (pipe(told) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP);
        if (read(told[0], &byte, 1) != 1) /* until its parent has seen that it goes on */
            _exit(1);
        raise(SIGTSTP);
        _exit(21);
    }
    await(child, "own stop");
    kill(child, SIGCONT);
    await(child, "continue");
    if (write(told[1], &byte, 1) != 1)
        return;
    int status = 0; /* an orphaned process group ignores SIGTSTP; either is fine as long as it is the same */
    while (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) {
        printf("then %s\n", describe(status));
        kill(child, SIGCONT);
    }
    printf("then %s\n", describe(status));
}

static void terminated_while_stopped(void)
{
    pid_t child = fork();
    if (child == 0)
        idle(NULL);
    kill(child, SIGSTOP);
    await(child, "stop");
    kill(child, SIGTERM); /* waits for the SIGCONT */
    int status;
    printf("pending: %d\n", waitpid(child, &status, WNOHANG) == 0);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    printf("in the end %s\n", describe(status));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    stopped_by_parent(1, SIGSTOP);
    stopped_by_parent(4, SIGSTOP);
    stops_itself();
    terminated_while_stopped();
    return 12;
}
