/* x86-64 instructions, as far as it takes to walk over compiled code: how long each is, where it jumps, and
 * which register it is about. Pure, async-signal-safe. Source: the Intel manual, volume 2, chapter 2 and
 * appendix A. */
#ifndef TG_RECORDER_AGENT_GOMP_X86_CODE_H
#define TG_RECORDER_AGENT_GOMP_X86_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_x86_flow {
    TG_X86_ON,      /* to the next instruction */
    TG_X86_JUMP_IF, /* on, or by DISPLACEMENT from the next instruction */
    TG_X86_JUMP,    /* by DISPLACEMENT */
    TG_X86_CALL,    /* goes on behind it, what registers hold is lost */
    TG_X86_LEAVES,  /* returns, traps, or goes where the code does not say */
};

struct tg_x86_code {
    uint8_t length; /* in bytes */
    uint8_t flow;   /* enum tg_x86_flow */
    uint8_t map;    /* map of opcodes: 0 one byte, 1 0f, 2 0f38, 3 0f3a; others for vectors */
    uint8_t opcode;
    bool is_vector; /* has a VEX or EVEX prefix */
    bool has_modrm;
    bool is_wide;    /* 64-bit operands */
    uint8_t mod;     /* 3: both operands are registers */
    uint8_t reg;     /* register number, 0 rax ... 15 r15, or part of the opcode (its low three bits) */
    uint8_t rm;      /* register number where MOD is 3, or where the opcode's low bits name it */
    int64_t operand; /* the immediate or the displacement of a jump, sign-extended; 0 without one */
};

/* Decodes the instruction that CODE begins with, of which SIZE bytes can be read. False: no instruction that
 * is known, or it is cut off. */
bool tg_x86_decode(const uint8_t *code, size_t size, struct tg_x86_code *instruction);

#endif
