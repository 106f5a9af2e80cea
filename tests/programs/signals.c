/* Signals as a program notices them: what a handler is told, which system calls are interrupted and which go
 * on, masks, waits, timers. Prints one line per observation; nothing in it depends on time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t seen;
static siginfo_t last;
static sigjmp_buf back;

static void note(int signal, siginfo_t *info, void *context)
{
    (void)context;
    seen = signal;
    last = *info;
}

/* Has no breakpoint in the tests: an int3 where SIGTRAP is blocked resets its handler (docs/decisions.md). */
static void note_trap(int signal, siginfo_t *info, void *context)
{
    (void)context;
    seen = signal;
    last = *info;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

/* A child that sends SIGNAL again and again until killed: it interrupts whatever the parent blocks in. */
static pid_t pester(int signal)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    for (;;) {
        kill(getppid(), signal);
        usleep(1000);
    }
}

static void stop_pestering(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void queued_values(void)
{
    handle(SIGRTMIN + 3, note, 0);
    for (int i = 0; i < 3; i++) {
        sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 40 + i});
        printf("queued: code %d value %d from self %d\n", last.si_code, last.si_value.sival_int,
               last.si_pid == getpid());
    }
    raise(SIGRTMIN + 3);
    printf("raised: code %d\n", last.si_code);
}

static void interrupted_calls(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return;
    handle(SIGUSR1, note, 0);
    pid_t child = pester(SIGUSR1);
    ssize_t n = read(ends[0], &byte, 1);
    printf("read without SA_RESTART: %zd %s\n", n, strerror(errno));
    int ready = poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, -1);
    printf("poll: %d %s\n", ready, strerror(errno));
    struct timespec wish = {.tv_sec = 1000}, rest = {0};
    int slept = nanosleep(&wish, &rest);
    printf("nanosleep: %d %s rest %d\n", slept, strerror(errno), rest.tv_sec >= 999);
    int set = epoll_create1(0);
    struct epoll_event event;
    int count = epoll_wait(set, &event, 1, -1);
    printf("epoll_wait: %d %s\n", count, strerror(errno));
    stop_pestering(child);
}

/* The read ends by data and not by a signal: with SA_RESTART, and when nobody handles the signal. */
static void restarted_calls(int flags, int signal)
{
    int ends[2], go[2];
    char byte = 0;
    if (pipe(ends) != 0 || pipe(go) != 0)
        return;
    if (flags >= 0)
        handle(signal, note, flags);
    seen = 0;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            kill(getppid(), signal);
            usleep(500);
        }
        _exit(write(ends[1], "x", 1) != 1);
    }
    ssize_t n = read(ends[0], &byte, 1);
    printf("read goes on through signal %d: %zd %c handled %d\n", signal, n, byte, seen != 0);
    waitpid(child, NULL, 0);
}

/* A signal that is ignored by default must not end a wait that natively goes on. */
static void ignored_signals_in_waits(void)
{
    int ends[2];
    signal(SIGCHLD, SIG_DFL);
    signal(SIGWINCH, SIG_DFL);
    if (pipe(ends) != 0)
        return;
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 20; i++) {
            kill(getppid(), SIGWINCH);
            usleep(500);
        }
        _exit(write(ends[1], "x", 1) != 1);
    }
    int count = epoll_wait(set, &event, 1, -1);
    printf("epoll_wait and ignored signals: %d%s%s\n", count, count < 0 ? " " : "",
           count < 0 ? strerror(errno) : "");
    waitpid(child, NULL, 0);
}

static void synchronous_waits(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid_t child = fork();
    if (child == 0) {
        sigqueue(getppid(), SIGUSR2, (union sigval){.sival_int = 7});
        _exit(5);
    }
    siginfo_t info;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    int signal = sigwaitinfo(&one, &info);
    printf("sigwaitinfo: %d value %d\n", signal, info.si_value.sival_int);
    sigemptyset(&one);
    sigaddset(&one, SIGCHLD);
    int fd = signalfd(-1, &one, SFD_CLOEXEC);
    struct signalfd_siginfo from_fd;
    ssize_t n = read(fd, &from_fd, sizeof from_fd);
    printf("signalfd: %d signal %u status %d of child %d\n", n == sizeof from_fd, from_fd.ssi_signo,
           from_fd.ssi_status, (pid_t)from_fd.ssi_pid == child);
    waitpid(child, NULL, 0);
    close(fd);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void jump_back(int signal, siginfo_t *info, void *context)
{
    (void)context;
    seen = signal;
    last = *info;
    siglongjmp(back, 1);
}

static void faults(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGSEGV, jump_back, SA_ONSTACK);
    handle(SIGFPE, jump_back, 0);
    handle(SIGILL, jump_back, 0);
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)(page + 123) = 1;
    printf("fault: signal %d code %d offset %ld\n", seen, last.si_code, (long)((char *)last.si_addr - page));
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("xor %%edx, %%edx; mov $1, %%eax; xor %%ecx, %%ecx; idiv %%ecx" ::
                             : "eax", "ecx", "edx");
    printf("division: signal %d code %d\n", seen, last.si_code);
    if (sigsetjmp(back, 1) == 0)
        __asm__ volatile("ud2");
    printf("ud2: signal %d code %d\n", seen, last.si_code);
}

/* Traps of the program's own: int3, kill, the trap flag. */
static void own_traps(void)
{
    handle(SIGTRAP, note_trap, 0);
    seen = 0;
    __asm__ volatile("int3");
    printf("int3: signal %d code %d\n", seen, last.si_code);
    seen = 0;
    __asm__ volatile(".byte 0xcd, 0x03");
    printf("int 3: signal %d code %d\n", seen, last.si_code);
    seen = 0;
    kill(getpid(), SIGTRAP);
    printf("kill: signal %d code %d\n", seen, last.si_code);
    seen = 0;
    __asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq; nop; pushfq; andl $~0x100, (%%rsp); popfq" ::
                         : "memory", "cc");
    printf("trap flag: signal %d code %d\n", seen, last.si_code);
    signal(SIGTRAP, SIG_IGN);
    kill(getpid(), SIGTRAP);
    signal(SIGTRAP, SIG_DFL);
}

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    (void)signal;
    ticks++;
}

static void timers(void)
{
    signal(SIGALRM, tick);
    ticks = 0;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 2000}, {0, 2000}}, NULL);
    sigset_t none;
    sigemptyset(&none);
    while (ticks < 25)
        sigsuspend(&none);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    printf("ticks reached 25\n");
    signal(SIGVTALRM, tick);
    ticks = 0;
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
    while (ticks < 3)
        ;
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    printf("virtual ticks reached 3\n");
}

static void masks(void)
{
    sigset_t all, former, now;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &former);
    for (int i = 0; i < 3; i++)
        getppid();
    sigprocmask(SIG_SETMASK, NULL, &now);
    int blocked = 0;
    for (int signal = 1; signal < 65; signal++)
        blocked += sigismember(&now, signal) == 1;
    raise(SIGUSR1);
    sigset_t pending;
    sigpending(&pending);
    printf("blocked %d pending %d\n", blocked, sigismember(&pending, SIGUSR1));
    sigprocmask(SIG_SETMASK, &former, NULL);
    sigprocmask(SIG_SETMASK, NULL, &now);
    blocked = 0;
    for (int signal = 1; signal < 65; signal++)
        blocked += sigismember(&now, signal) == 1;
    printf("blocked %d\n", blocked);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    queued_values();
    interrupted_calls();
    restarted_calls(SA_RESTART, SIGUSR1);
    restarted_calls(-1, SIGWINCH);
    ignored_signals_in_waits();
    synchronous_waits();
    faults();
    own_traps();
    timers();
    masks();
    return 3;
}
