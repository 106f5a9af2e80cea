#include "recorder/process/thread_stack.h"

#include "recorder/process/mappings.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>

enum { BELOW = 1024 }; /* bytes below the stack pointer that code uses: a call, the red zone */
static const uint64_t farthest = UINT64_C(1) << 30; /* bytes below its stack that a frame begins, at most */

struct stack {
    uint64_t low, high;
};

/* For the program itself: tg_memory_read gets past the protection of a guard page. */
static bool is_readable(pid_t pid, uint64_t address)
{
    char byte;
    const struct iovec local = {&byte, 1}, remote = {(void *)address, 1};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1;
}

/* The mapping that is the first thread's stack, or else holds THREAD_POINTER: glibc has a thread's data above its stack. */
static bool find_stack(pid_t pid, bool is_first, uint64_t thread_pointer, struct stack *stack)
{
    struct tg_mappings mappings;
    struct tg_mapping mapping;
    bool found = false;
    tg_mappings_open(&mappings, pid);
    while (!found && tg_mappings_next(&mappings, &mapping))
        found = is_first ? strcmp(mapping.path, "[stack]") == 0
                         : mapping.start <= thread_pointer && thread_pointer < mapping.end;
    tg_mappings_close(&mappings);
    *stack = (struct stack){mapping.start, mapping.end};
    return found;
}

uint64_t tg_thread_stack_overflowed(pid_t pid, pid_t tid, const struct user_regs_struct *registers,
                                    uint64_t fault)
{
    const uint64_t pointer = registers->rsp;
    struct stack stack;
    struct rlimit limit;
    if (pointer < farthest || fault < pointer - BELOW || fault > pointer + farthest)
        return 0;
    bool is_there = is_readable(pid, pointer);
    if (is_there && is_readable(pid, pointer - BELOW))
        return 0;
    if (!find_stack(pid, tid == pid, registers->fs_base, &stack) || fault >= stack.low ||
        pointer >= stack.high || pointer < stack.low - farthest || (is_there && pointer < stack.low))
        return 0;
    bool is_limited =
        tid == pid && prlimit(pid, RLIMIT_STACK, NULL, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_limited ? limit.rlim_cur : stack.high - stack.low;
}
