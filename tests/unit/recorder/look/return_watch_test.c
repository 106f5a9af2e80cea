#include "recorder/look/return_watch.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static __attribute__((noinline)) void passed(void)
{
    __asm__ volatile("");
}

static __attribute__((noinline)) void not_passed(void)
{
    __asm__ volatile("nop");
}

/* A child that runs PASSED so often for each byte that it gets, and answers. */
static pid_t start(int to[2], int from[2], int times)
{
    char byte;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    close(to[1]);
    while (read(to[0], &byte, 1) == 1) {
        for (int i = 0; i < times; i++)
            passed();
        if (write(from[1], &byte, 1) != 1)
            break;
    }
    if (times < 0)
        not_passed();
    _exit(0);
}

/* Whether this machine counts, asked of it alone: a counter of our own code, in this process. */
static bool counts_here(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_BREAKPOINT,
                                         .size = sizeof attributes,
                                         .bp_type = HW_BREAKPOINT_X,
                                         .bp_addr = (uint64_t)(uintptr_t)passed,
                                         .bp_len = sizeof(long),
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    uint64_t count = 0;
    int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    passed();
    bool counts = fd >= 0 && read(fd, &count, sizeof count) == sizeof count && count == 1;
    if (fd >= 0)
        close(fd);
    return counts;
}

static void stop(pid_t pid)
{
    int status;
    assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL), 0);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
}

static void make_round(int to[2], int from[2])
{
    char byte = 'a';
    assert_int_equal(write(to[1], &byte, 1), 1);
    assert_int_equal(read(from[0], &byte, 1), 1);
}

/* What a thread executes between two stops is counted, and nothing stays behind: afterwards it runs on untraced. */
static void test_counts(void **state)
{
    (void)state;
    int to[2], from[2], status;
    struct tg_return_watch *watch;
    struct tg_look_activity activity = {0};
    assert_null(tg_return_watch_create(&watch));
    assert_int_equal(pipe(to) | pipe(from), 0);
    pid_t pid = start(to, from, 7);
    stop(pid);
    tg_return_watch_add(watch, pid, (uint64_t)(uintptr_t)passed);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    make_round(to, from);
    make_round(to, from);
    stop(pid);
    bool is_counted = tg_return_watch_take(watch, pid, &activity);
    /* 0 of what cannot be counted would be an answer */
    assert_int_equal(is_counted, counts_here());
    assert_int_equal(is_counted, tg_return_watch_refusal(watch) == NULL);
    assert_false(tg_return_watch_take(watch, pid, &activity));
    if (is_counted)
        assert_int_equal(activity.returns, 14);
    tg_return_watch_add(watch, pid, (uint64_t)(uintptr_t)not_passed);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    make_round(to, from);
    stop(pid);
    activity.returns = 77;
    if (tg_return_watch_take(watch, pid, &activity))
        assert_int_equal(activity.returns, 0);
    tg_return_watch_add(watch, pid, (uint64_t)(uintptr_t)passed);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    tg_return_watch_destroy(watch);
    make_round(to, from);
    close(to[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    if (!is_counted)
        print_message("nothing is counted here: only that this is said is tested\n");
}

/* Threads that are not there, and addresses that cannot be, are not counted. */
static void test_refused(void **state)
{
    (void)state;
    struct tg_return_watch *watch;
    struct tg_look_activity activity;
    assert_null(tg_return_watch_create(&watch));
    tg_return_watch_add(watch, 0x3fffffff, 0x1000);
    assert_false(tg_return_watch_take(watch, 0x3fffffff, &activity));
    assert_null(tg_return_watch_refusal(watch));
    tg_return_watch_add(watch, getpid(), UINT64_MAX - 4);
    assert_false(tg_return_watch_take(watch, getpid(), &activity));
    assert_non_null(tg_return_watch_refusal(watch));
    tg_return_watch_destroy(watch);
    tg_return_watch_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
