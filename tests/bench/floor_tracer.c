/* The least that a tracer does, as a floor to compare with.
 *   floor_tracer --stops COMMAND...   one int3 at r_brk; each stop: registers, one read of the stack and one
 *                                     of r_debug, registers, continue
 *   floor_tracer --forks COMMAND...   follows forks, clones and execs, and does nothing else
 * Hands through the exit status. 64-bit dynamic programs only; not made to be robust. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "floor_tracer: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_memory(pid_t pid, uint64_t address, void *buffer, size_t size)
{
    struct iovec here = {buffer, size}, there = {(void *)address, size};
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)size)
        fail("process_vm_readv");
}

static long plant(pid_t pid, uint64_t address)
{
    long word = ptrace(PTRACE_PEEKTEXT, pid, address, NULL);
    if (ptrace(PTRACE_POKETEXT, pid, address, (word & ~0xffL) | 0xcc) != 0)
        fail("cannot plant");
    return word;
}

static uint64_t auxiliary(pid_t pid, uint64_t type)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    FILE *file = fopen(path, "r");
    Elf64_auxv_t entry;
    while (file != NULL && fread(&entry, sizeof entry, 1, file) == 1)
        if (entry.a_type == type) {
            fclose(file);
            return entry.a_un.a_val;
        }
    fail("auxv");
    return 0;
}

/* The address of r_debug, from DT_DEBUG of the program, once the loader has filled it in. */
static uint64_t find_r_debug(pid_t pid)
{
    uint64_t phdr = auxiliary(pid, AT_PHDR), count = auxiliary(pid, AT_PHNUM), bias = 0, dynamic = 0;
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Phdr header;
        read_memory(pid, phdr + i * sizeof header, &header, sizeof header);
        if (header.p_type == PT_PHDR)
            bias = phdr - header.p_vaddr;
        if (header.p_type == PT_DYNAMIC)
            dynamic = header.p_vaddr;
    }
    for (uint64_t at = bias + dynamic;; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        read_memory(pid, at, &entry, sizeof entry);
        if (entry.d_tag == DT_DEBUG)
            return entry.d_un.d_ptr;
        if (entry.d_tag == DT_NULL)
            fail("no DT_DEBUG");
    }
}

static void wait_for_trap(pid_t pid)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
        fail("no trap");
}

static void plant_at_r_brk(pid_t pid, uint64_t *r_debug, uint64_t *r_brk)
{
    struct user_regs_struct regs;
    uint64_t entry = auxiliary(pid, AT_ENTRY);
    long word = plant(pid, entry);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    wait_for_trap(pid);
    ptrace(PTRACE_POKETEXT, pid, entry, word);
    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    regs.rip = entry;
    ptrace(PTRACE_SETREGS, pid, NULL, &regs);
    struct r_debug debug;
    *r_debug = find_r_debug(pid);
    read_memory(pid, *r_debug, &debug, sizeof debug);
    *r_brk = debug.r_brk;
    if (((uint64_t)plant(pid, *r_brk) & 0xff) != 0xc3)
        fail("r_brk is no ret");
}

static void handle_stop(pid_t pid, uint64_t r_debug)
{
    struct user_regs_struct regs;
    struct r_debug debug;
    uint64_t return_address;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
        fail("PTRACE_GETREGS");
    struct iovec here[2] = {{&return_address, sizeof return_address}, {&debug, sizeof debug}};
    struct iovec there[2] = {{(void *)regs.rsp, sizeof return_address}, {(void *)r_debug, sizeof debug}};
    if (process_vm_readv(pid, here, 2, there, 2, 0) != (ssize_t)(sizeof return_address + sizeof debug))
        fail("process_vm_readv");
    regs.rip = return_address;
    regs.rsp += sizeof return_address;
    if (ptrace(PTRACE_SETREGS, pid, NULL, &regs) != 0)
        fail("PTRACE_SETREGS");
}

static int trace(pid_t child, uint64_t r_debug, uint64_t r_brk)
{
    for (;;) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0)
            fail("waitpid");
        if (!WIFSTOPPED(status)) {
            if (pid == child)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int signal = WSTOPSIG(status);
        if (status >> 16 != 0)
            signal = 0;
        if (signal == SIGTRAP && r_brk != 0) {
            handle_stop(pid, r_debug);
            signal = 0;
        }
        ptrace(PTRACE_CONT, pid, NULL, signal);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || (strcmp(argv[1], "--stops") != 0 && strcmp(argv[1], "--forks") != 0)) {
        fprintf(stderr, "Usage: floor_tracer --stops|--forks COMMAND...\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    wait_for_trap(child);
    long follow = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    bool stops = strcmp(argv[1], "--stops") == 0;
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL | (stops ? 0 : follow)) != 0)
        fail("PTRACE_SETOPTIONS");
    uint64_t r_debug = 0, r_brk = 0;
    if (stops)
        plant_at_r_brk(child, &r_debug, &r_brk);
    ptrace(PTRACE_CONT, child, NULL, NULL);
    return trace(child, r_debug, r_brk);
}
