#include "tests/support/stopped_child.h"

#include "recorder/process/memory.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_for(struct stopped_child *child, pid_t tid)
{
    for (;;) {
        int status;
        pid_t got = waitpid(tid, &status, __WALL);
        if (got < 0) {
            child->tid = 0;
            return;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (got != child->pid)
                continue;
            child->tid = 0;
            return;
        }
        if (status >> 16 != 0 || (got != child->tid && WSTOPSIG(status) == SIGSTOP)) {
            /* a clone event, or a new thread's first stop: nothing to anyone */
            assert(ptrace(PTRACE_CONT, got, 0, 0) == 0);
            continue;
        }
        child->tid = got;
        child->signal = WSTOPSIG(status);
        return;
    }
}

void stopped_child_start(struct stopped_child *child, const char *const *argv)
{
    stopped_child_start_writing(child, argv, -1);
}

void stopped_child_start_writing(struct stopped_child *child, const char *const *argv, int output)
{
    pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0) {
        if (output >= 0)
            dup2(output, STDOUT_FILENO);
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    *child = (struct stopped_child){.pid = pid, .tid = pid};
    wait_for(child, pid);
    assert(child->tid == pid && child->signal == SIGTRAP);
    assert(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) == 0);
}

void stopped_child_continue(struct stopped_child *child, int signal)
{
    assert(ptrace(PTRACE_CONT, child->tid, 0, signal) == 0);
    wait_for(child, -1);
}

void stopped_child_step(struct stopped_child *child)
{
    int signal = 0;
    do {
        assert(ptrace(PTRACE_SINGLESTEP, child->tid, 0, signal) == 0);
        wait_for(child, child->tid);
        signal = child->signal;
    } while (child->tid != 0 && signal != SIGTRAP);
}

void stopped_child_registers(const struct stopped_child *child, struct tg_registers *registers)
{
    struct user_regs_struct user;
    assert(ptrace(PTRACE_GETREGS, child->tid, 0, &user) == 0);
    *registers = (struct tg_registers){
        .value = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
                  user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip},
        .known = (1u << TG_REGISTER_COUNT) - 1,
    };
}

static bool read_wide(void *context, unsigned number, uint8_t bytes[TG_WIDE_REGISTER_SIZE])
{
    const struct stopped_child *child = context;
    struct user_fpregs_struct user;
    assert(ptrace(PTRACE_GETFPREGS, child->tid, 0, &user) == 0);
    if (number >= TG_XMM0 && number <= TG_XMM15)
        memcpy(bytes, user.xmm_space + (size_t)4 * (number - TG_XMM0), TG_WIDE_REGISTER_SIZE);
    else if (number >= TG_ST0 && number <= TG_ST7)
        memcpy(bytes, user.st_space + (size_t)4 * (number - TG_ST0), TG_WIDE_REGISTER_SIZE);
    else
        return false;
    return true;
}

struct tg_inspect_wide_registers stopped_child_wide_registers(const struct stopped_child *child)
{
    return (struct tg_inspect_wide_registers){.context = (void *)child, .read = read_wide};
}

uint64_t stopped_child_fs_base(const struct stopped_child *child)
{
    struct user_regs_struct user;
    assert(ptrace(PTRACE_GETREGS, child->tid, 0, &user) == 0);
    return user.fs_base;
}

static size_t target_at(const struct stopped_child_target *targets, size_t n_targets, uint64_t address)
{
    size_t i = 0;
    while (i < n_targets && targets[i].address != address)
        i++;
    return i;
}

/* Plants breakpoints, runs to the next stop, takes them away; false where a signal was the reason. */
static bool run_planted(struct stopped_child *child, const struct stopped_child_target *targets,
                        size_t n_targets, int signal)
{
    uint8_t originals[16], int3 = 0xcc;
    assert(n_targets <= sizeof originals);
    for (size_t i = 0; i < n_targets; i++) {
        assert(tg_memory_read(child->tid, targets[i].address, &originals[i], 1));
        assert(tg_memory_write(child->tid, targets[i].address, &int3, 1));
    }
    pid_t tid = child->tid;
    assert(ptrace(PTRACE_CONT, tid, 0, signal) == 0);
    wait_for(child, tid);
    for (size_t i = n_targets; child->tid != 0 && i-- > 0;)
        assert(tg_memory_write(tid, targets[i].address, &originals[i], 1));
    return child->tid == 0 || child->signal == SIGTRAP;
}

void stopped_child_run_to(struct stopped_child *child, const struct stopped_child_target *targets,
                          size_t n_targets)
{
    stopped_child_step(child); /* off the place where it is stopped */
    while (child->tid != 0) {
        struct user_regs_struct user;
        assert(ptrace(PTRACE_GETREGS, child->tid, 0, &user) == 0);
        for (size_t i = 0; i < n_targets; i++)
            if (targets[i].address == user.rip && user.rsp >= targets[i].rsp_at_least)
                return;
        if (target_at(targets, n_targets, user.rip) < n_targets)
            stopped_child_step(child);
        int signal = 0;
        while (!run_planted(child, targets, n_targets, signal))
            signal = child->signal;
        if (child->tid == 0)
            return;
        assert(ptrace(PTRACE_GETREGS, child->tid, 0, &user) == 0);
        user.rip--;
        assert(target_at(targets, n_targets, user.rip) < n_targets);
        assert(ptrace(PTRACE_SETREGS, child->tid, 0, &user) == 0);
    }
}

static bool read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct stopped_child *child = context;
    return tg_memory_read(child->tid, address, buffer, size);
}

struct tg_inspect_memory stopped_child_memory(const struct stopped_child *child)
{
    return (struct tg_inspect_memory){.context = (void *)child, .read = read_memory};
}

void stopped_child_kill(struct stopped_child *child)
{
    kill(child->pid, SIGKILL);
    pid_t got;
    while ((got = waitpid(-1, NULL, __WALL)) > 0 && got != child->pid)
        continue; /* threads of the child */
    child->tid = 0;
}

void stopped_child_detach_stopped(struct stopped_child *child)
{
    assert(ptrace(PTRACE_DETACH, child->tid, 0, SIGSTOP) == 0);
}
