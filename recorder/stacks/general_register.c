#include "recorder/stacks/general_register.h"

#include "recorder/dwarf/target.h"

#include <capstone/capstone.h>

int tg_general_register(unsigned reg)
{
    static const uint16_t names[TG_GENERAL_REGISTERS][5] = {
        [TG_RAX] = {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
        [TG_RDX] = {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
        [TG_RCX] = {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
        [TG_RBX] = {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
        [TG_RSI] = {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
        [TG_RDI] = {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
        [TG_RBP] = {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL},
        [TG_RSP] = {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL},
        [TG_R8] = {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
        [TG_R9] = {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
        [TG_R10] = {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B},
        [TG_R11] = {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B},
        [TG_R12] = {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B},
        [TG_R13] = {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B},
        [TG_R14] = {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B},
        [TG_R15] = {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B},
    };
    for (int i = 0; reg != X86_REG_INVALID && i < TG_GENERAL_REGISTERS; i++)
        for (int k = 0; k < 5; k++)
            if (reg == names[i][k])
                return i;
    return -1;
}
