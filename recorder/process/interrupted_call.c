#include "recorder/process/interrupted_call.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

enum {
    KERNEL_RESTART_NO_HANDLER = 514, /* ERESTARTNOHAND, include/linux/errno.h */
    CODE_SEGMENT_64 = 0x33,          /* of 64-bit code, whose calls have the numbers below */
};

#define REGISTER(name) offsetof(struct user_regs_struct, name)

/* Calls that answer EINTR to any wake-up, and the argument that says that they wait without limit. */
static const struct interruptible {
    unsigned long long number;
    size_t limit_register; /* 0 + none: always without limit */
    bool has_limit;
    bool limit_is_int; /* -1 means without limit; otherwise a pointer, NULL */
} interruptibles[] = {
    {SYS_epoll_wait, REGISTER(r10), true, true},
    {SYS_epoll_pwait, REGISTER(r10), true, true},
    {SYS_epoll_pwait2, REGISTER(r10), true, false},
    {SYS_rt_sigtimedwait, REGISTER(rdx), true, false},
    {SYS_semop, 0, false, false},
    {SYS_semtimedop, REGISTER(r10), true, false},
    {SYS_io_getevents, REGISTER(r8), true, false},
    {SYS_io_pgetevents, REGISTER(r8), true, false},
};

static bool waits_without_limit(const struct user_regs_struct *regs)
{
    for (size_t i = 0; i < sizeof interruptibles / sizeof *interruptibles; i++) {
        const struct interruptible *call = &interruptibles[i];
        if (regs->orig_rax != call->number)
            continue;
        if (!call->has_limit)
            return true;
        unsigned long long limit = *(const unsigned long long *)((const char *)regs + call->limit_register);
        return call->limit_is_int ? (int)limit < 0 : limit == 0;
    }
    return false;
}

bool tg_interrupted_call_restart(struct user_regs_struct *regs)
{
    if (regs->cs != CODE_SEGMENT_64 || (long long)regs->rax != -EINTR || !waits_without_limit(regs))
        return false;
    regs->rax = (unsigned long long)-KERNEL_RESTART_NO_HANDLER;
    return true;
}
