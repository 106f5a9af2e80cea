/* A stopped thread as inspection sees it: registers, frames, memory. x86-64. */
#ifndef TG_RECORDER_DWARF_TARGET_H
#define TG_RECORDER_DWARF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of its process, as the program has it: without breakpoints of ours. */
struct tg_inspect_memory {
    void *context;
    /* All of [address, address + size), or false; BUFFER may be partly filled then. */
    bool (*read)(void *context, uint64_t address, void *buffer, size_t size);
};

/* Registers wider than 64 bits: xmm0 to xmm15 and st0 to st7, by the numbers that DWARF has for
 * them. */
enum {
    TG_XMM0 = 17,
    TG_XMM15 = 32,
    TG_ST0 = 33,
    TG_ST7 = 40,
    TG_WIDE_REGISTER_SIZE = 16, /* bytes; of st0 to st7 10 are used */
};
struct tg_inspect_wide_registers {
    void *context;
    /* False: not known, or NUMBER is none of them. */
    bool (*read)(void *context, unsigned number, uint8_t bytes[TG_WIDE_REGISTER_SIZE]);
};

/* The numbers that DWARF has for them (System V ABI, AMD64 supplement). */
enum tg_register {
    TG_RAX,
    TG_RDX,
    TG_RCX,
    TG_RBX,
    TG_RSI,
    TG_RDI,
    TG_RBP,
    TG_RSP,
    TG_R8,
    TG_R9,
    TG_R10,
    TG_R11,
    TG_R12,
    TG_R13,
    TG_R14,
    TG_R15,
    TG_RIP, /* DWARF's return address column */
    TG_REGISTER_COUNT,
};

struct tg_registers {
    uint64_t value[TG_REGISTER_COUNT];
    uint32_t known; /* bit i: value[i] is; in frames further out callers' registers are lost */
};

static inline bool tg_registers_has(const struct tg_registers *registers, enum tg_register number)
{
    return (registers->known >> number & 1) != 0;
}

/* One call on a stack. */
struct tg_frame {
    struct tg_registers registers; /* as they are, or will be when it is returned to; TG_RIP is known */
    uint64_t cfa;                  /* the stack pointer before the call that made it, 0 not known */
    bool is_activation; /* pc is the next instruction (innermost, or interrupted by a signal); else a return
                         * address, and the code is asked about the byte before */
};

/* Address at which code of FRAME is looked up. */
static inline uint64_t tg_frame_place(const struct tg_frame *frame)
{
    return frame->registers.value[TG_RIP] - !frame->is_activation;
}

#endif
