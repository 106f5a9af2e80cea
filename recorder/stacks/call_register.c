#include "recorder/stacks/call_register.h"

#include <capstone/capstone.h>

int tg_call_register_place(unsigned reg)
{
    static const unsigned names[TG_CALL_REGISTER_COUNT][4] = {
        {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
        {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
        {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
        {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
        {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
        {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
        {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL},
        {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL},
    };
    for (int i = 0; i < TG_CALL_REGISTER_COUNT; i++)
        for (int k = 0; k < 4; k++)
            if (reg == names[i][k])
                return i;
    return -1;
}
