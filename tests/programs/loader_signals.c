/* Signals that come while the loader tells of what it does: dlopen and dlclose of PATH, ROUNDS times, while a
 * thread sends SIGUSR1 and SIGUSR2 in turn to the one that loads, each as soon as the last was handled. Every
 * one must come once, as it was sent, and at a place where code is. (Not SIGTRAP: one that is sent in the
 * moment in which a breakpoint is hit is one signal with the hit's.) Usage: loader_signals ROUNDS PATH; says
 * "undisturbed" and exits with 0, or what was wrong and exits with 1. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_uint sent, handled, not_ours, behind_r_brk;
static atomic_int over;
static uint64_t r_brk;
static pid_t loading_thread;

static void handle(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *where = context;
    (void)signal;
    if (info->si_code != SI_TKILL || info->si_pid != getpid())
        atomic_fetch_add(&not_ours, 1);
    if ((uint64_t)where->uc_mcontext.gregs[REG_RIP] == r_brk + 1)
        atomic_fetch_add(&behind_r_brk, 1);
    atomic_fetch_add(&handled, 1);
}

static void *send(void *argument)
{
    (void)argument;
    while (!atomic_load(&over)) {
        unsigned number = atomic_fetch_add(&sent, 1) + 1;
        syscall(SYS_tgkill, getpid(), loading_thread, number % 2 == 0 ? SIGUSR2 : SIGUSR1);
        while (atomic_load(&handled) < number)
            sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    r_brk = _r_debug.r_brk;
    loading_thread = gettid();
    pthread_t sender;
    if (pthread_create(&sender, NULL, send, NULL) != 0)
        return 2;
    while (atomic_load(&handled) < 2)
        sched_yield();
    for (long round = strtol(argv[1], NULL, 10); round > 0; round--) {
        void *handle = dlopen(argv[2], RTLD_NOW);
        if (handle == NULL || dlclose(handle) != 0) {
            printf("%s\n", dlerror());
            return 1;
        }
    }
    atomic_store(&over, 1);
    pthread_join(sender, NULL);
    if (handled != sent || not_ours != 0 || behind_r_brk != 0) {
        printf("%u of %u signals came, %u not as they were sent, %u behind r_brk\n", handled, sent, not_ours,
               behind_r_brk);
        return 1;
    }
    puts("undisturbed");
    return 0;
}
