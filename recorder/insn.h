/* One x86 instruction under a breakpoint: how to get past it without lifting the breakpoint. */
#ifndef TG_RECORDER_INSN_H
#define TG_RECORDER_INSN_H

#include "format/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

enum { TG_INSN_MAX_BYTES = 15, TG_INSN_SCRATCH_BYTES = 16 };

struct tg_insn_decoder; /* a Capstone handle per mode; one per engine */
struct tg_error *tg_insn_decoder_create(struct tg_insn_decoder **decoder);
void tg_insn_decoder_destroy(struct tg_insn_decoder *decoder);

/* A decoded instruction; plain data, copied freely, no Capstone inside. Fields are insn.c's. */
struct tg_insn {
    uint8_t bytes[TG_INSN_MAX_BYTES];
    uint8_t length;
    uint8_t bits;      /* 64 or 32 */
    uint8_t emulation; /* 0: cannot be emulated, displace it; else insn.c's kind */
    uint8_t reg;       /* operand register index in encoding order */
    uint8_t uses_rip;  /* RIP-relative memory operand */
    uint8_t branch;    /* kind of control transfer, for the fix-up after a displaced step */
    uint8_t modrm_offset;
    uint8_t scratch_reg; /* register that replaces RIP in a displaced copy */
    int64_t immediate;   /* branch displacement or immediate */
};

/* Decodes the instruction at ADDRESS from its ORIGINAL bytes (SIZE in [1, 15] available). INPUT error for no
 * valid instruction. */
struct tg_error *tg_insn_decode(struct tg_insn_decoder *decoder, unsigned bits, uint64_t address,
                                const uint8_t *bytes, size_t size, struct tg_insn *insn);

/* Access to the thread's memory for emulation; false = fault (the instruction is then displaced instead, to
 * fault natively). */
struct tg_insn_memory {
    void *context;
    bool (*read)(void *context, uint64_t address, void *buffer, size_t size);
    bool (*write)(void *context, uint64_t address, const void *buffer, size_t size);
};

/*
 * Does in REGS (rip = the instruction's address) and memory exactly what the instruction does; false (nothing
 * changed) where it is not one of those emulated (ret, nop, push, pop, endbr64, relative jumps, conditional
 * ones, calls, mov/sub/lea on registers...).
 */
bool tg_insn_emulate(const struct tg_insn *insn, struct user_regs_struct *regs,
                     const struct tg_insn_memory *memory);

/*
 * A displaced step: writes to CODE (TG_INSN_SCRATCH_BYTES) what is to run at SCRATCH instead, adjusts REGS
 * (rip = SCRATCH, a scratch register where the operand was RIP-relative). After the single step
 * tg_insn_finish turns the registers back.
 */
void tg_insn_displace(const struct tg_insn *insn, uint64_t address, uint64_t scratch,
                      struct user_regs_struct *regs, uint8_t code[TG_INSN_SCRATCH_BYTES],
                      uint64_t *saved_register);

/*
 * After the step (or a signal before or in it: then rip is still SCRATCH and the original address comes
 * back): corrects rip, a pushed return address, and the scratch register.
 */
void tg_insn_finish(const struct tg_insn *insn, uint64_t address, uint64_t scratch, uint64_t saved_register,
                    struct user_regs_struct *regs, const struct tg_insn_memory *memory);

#endif
