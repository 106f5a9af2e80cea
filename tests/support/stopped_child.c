#include "tests/support/stopped_child.h"

#include "recorder/memory.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
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
    pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0) {
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
    assert(ptrace(PTRACE_SINGLESTEP, child->tid, 0, 0) == 0);
    wait_for(child, child->tid);
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

void stopped_child_run_to(struct stopped_child *child, uint64_t address, uint64_t rsp)
{
    uint8_t original, int3 = 0xcc;
    assert(tg_memory_read(child->tid, address, &original, 1));
    for (bool reached = false; !reached;) {
        assert(tg_memory_write(child->tid, address, &int3, 1));
        assert(ptrace(PTRACE_CONT, child->tid, 0, 0) == 0);
        wait_for(child, child->tid);
        if (child->tid == 0)
            return;
        assert(tg_memory_write(child->tid, address, &original, 1));
        struct user_regs_struct user;
        assert(ptrace(PTRACE_GETREGS, child->tid, 0, &user) == 0);
        if (child->signal != SIGTRAP || user.rip != address + 1)
            return;
        user.rip--;
        assert(ptrace(PTRACE_SETREGS, child->tid, 0, &user) == 0);
        reached = user.rsp >= rsp;
        if (!reached)
            stopped_child_step(child);
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
        continue; /* its threads */
    child->tid = 0;
}

void stopped_child_detach_stopped(struct stopped_child *child)
{
    assert(ptrace(PTRACE_DETACH, child->tid, 0, SIGSTOP) == 0);
}
