#include "recorder/unwind/user_registers.h"

struct tg_registers tg_user_registers(const struct user_regs_struct *user)
{
    return (struct tg_registers){.value = {[TG_RAX] = user->rax,
                                           [TG_RDX] = user->rdx,
                                           [TG_RCX] = user->rcx,
                                           [TG_RBX] = user->rbx,
                                           [TG_RSI] = user->rsi,
                                           [TG_RDI] = user->rdi,
                                           [TG_RBP] = user->rbp,
                                           [TG_RSP] = user->rsp,
                                           [TG_R8] = user->r8,
                                           [TG_R9] = user->r9,
                                           [TG_R10] = user->r10,
                                           [TG_R11] = user->r11,
                                           [TG_R12] = user->r12,
                                           [TG_R13] = user->r13,
                                           [TG_R14] = user->r14,
                                           [TG_R15] = user->r15,
                                           [TG_RIP] = user->rip},
                                 .known = (1U << TG_REGISTER_COUNT) - 1};
}
