/* Tells of this machine what tests must know of it, and asks nobody but the machine: status 0 yes, 1 no, 2 unknown. usage:
 *
 *   machine breakpoints  perf_event_open counts what a thread executes at an address
 *   machine watchpoints  a debug register that ptrace writes reports a write
 *   machine clock        reading the time stamp counter can be forbidden (PR_SET_TSC) */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum { YES, NO, UNKNOWN };

static __attribute__((noinline)) void pass(void)
{
    __asm__ volatile("");
}

static int breakpoints(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
                                         .size = sizeof attributes,
                                         .bp_type = HW_BREAKPOINT_X,
                                         .bp_addr = (uint64_t)(uintptr_t)pass,
                                         .bp_len = sizeof(long),
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    uint64_t count = 0;
    int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
    pass();
    pass();
    return fd >= 0 && read(fd, &count, sizeof count) == sizeof count && count == 2 ? YES : NO;
}

static volatile uint64_t watched __attribute__((aligned(8)));

static int watchpoints(void)
{
    enum { ONE_WRITE_OF_8 = 1 | 1 << 16 | 2 << 18, NO_SUCH_TRAP = -1 };
    int status = 0, trap = NO_SUCH_TRAP;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        watched = 1;
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return UNKNOWN;
    if (ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[0]), &watched) == 0 &&
        ptrace(PTRACE_POKEUSER, child, offsetof(struct user, u_debugreg[7]), (long)ONE_WRITE_OF_8) == 0 &&
        ptrace(PTRACE_CONT, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child)
        trap = WIFSTOPPED(status) ? WSTOPSIG(status) : NO_SUCH_TRAP;
    if (!WIFEXITED(status) && kill(child, SIGKILL) == 0)
        waitpid(child, &status, 0);
    return trap == SIGTRAP ? YES : NO;
}

static sigjmp_buf away;

static void on_signal(int signal)
{
    (void)signal;
    siglongjmp(away, 1);
}

static int forbidden_clock(void)
{
    signal(SIGSEGV, on_signal);
    if (sigsetjmp(away, 1) != 0)
        return YES;
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0)
        (void)__rdtsc(); /* volatile */
    return NO;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "breakpoints") == 0)
        return breakpoints();
    if (argc == 2 && strcmp(argv[1], "watchpoints") == 0)
        return watchpoints();
    if (argc == 2 && strcmp(argv[1], "clock") == 0)
        return forbidden_clock();
    return UNKNOWN;
}
