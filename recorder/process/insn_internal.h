/* Facts about an instruction that insn.c finds out and insn_step.c acts upon. */
#ifndef TG_RECORDER_PROCESS_INSN_INTERNAL_H
#define TG_RECORDER_PROCESS_INSN_INTERNAL_H

#include "recorder/process/insn.h"

enum { TG_INSN_NO_REGISTER = 0xff };

/* The effect of an instruction, where it can be emulated. */
enum tg_insn_operation {
    TG_INSN_OTHER,
    TG_INSN_NOP,
    TG_INSN_RET, /* immediate: bytes of arguments to drop */
    TG_INSN_PUSH,
    TG_INSN_POP,
    TG_INSN_PUSH_FLAGS,
    TG_INSN_LEAVE,
    TG_INSN_JUMP, /* relative */
    TG_INSN_JUMP_IF,
    TG_INSN_LOOP, /* loopne, loope, loop, jrcxz */
    TG_INSN_JUMP_REGISTER,
    TG_INSN_CALL, /* relative */
    TG_INSN_CALL_REGISTER,
    TG_INSN_LEA,
    TG_INSN_MOV,
    TG_INSN_ADD,
    TG_INSN_OR,
    TG_INSN_AND,
    TG_INSN_SUB,
    TG_INSN_XOR,
    TG_INSN_CMP,
    TG_INSN_TEST,
};

/* The place of rip after a displaced step, and its meaning for the place that the instruction came from. */
enum tg_insn_transfer {
    TG_INSN_TO_NEXT,     /* behind the copy: the next instruction */
    TG_INSN_TO_RELATIVE, /* anywhere: as far from ADDRESS as it is from SCRATCH */
    TG_INSN_TO_ABSOLUTE, /* the jump's target: returns, jumps through registers and memory */
    TG_INSN_TO_CALLED,   /* as absolute, with a return address on the stack that names the copy */
    TG_INSN_TO_EMULATED, /* behind a nop: the jump is still to be emulated (it cannot fault) */
    TG_INSN_TO_PUSHED,   /* behind a push of the return address: the relative call still has to be entered */
    TG_INSN_TO_KERNEL,   /* behind the copy, or wherever the kernel resumed (exec, sigreturn) */
};

#endif
