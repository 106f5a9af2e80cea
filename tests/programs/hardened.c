/* Processes that close themselves off: PR_SET_DUMPABLE 0, a seccomp filter, no_new_privs, another user. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *argument)
{
    return argument;
}

static void live_a_little(const char *what)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(prctl(PR_GET_DUMPABLE));
    int status;
    waitpid(child, &status, 0);
    printf("%s: child says %d\n", what, WEXITSTATUS(status));
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 23", (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    printf("%s: exec says %d\n", what, WEXITSTATUS(status));
}

static void filter(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog fprog = {sizeof program / sizeof *program, program};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog) != 0) {
        printf("no seccomp: %s\n", strerror(errno));
        return;
    }
    errno = 0;
    long result = syscall(SYS_getppid);
    printf("filtered call: %ld errno %d\n", result, errno);
}

static void on_sys(int signal, siginfo_t *info, void *context)
{
    (void)context;
    dprintf(1, "SIGSYS %d code %d\n", signal == SIGSYS, info->si_code);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    prctl(PR_SET_DUMPABLE, 0);
    live_a_little("not dumpable");
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) == 0)
        live_a_little("another user");
    else
        live_a_little("another user");
    struct sigaction action = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    filter();
    syscall(SYS_sync);
    live_a_little("filtered");
    return 13;
}
