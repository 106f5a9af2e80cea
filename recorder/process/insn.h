/* One x86 instruction under a breakpoint: how to get past it without lifting the breakpoint. */
#ifndef TG_RECORDER_PROCESS_INSN_H
#define TG_RECORDER_PROCESS_INSN_H

#include "format/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

enum {
    TG_INSN_MAX_BYTES = 15,     /* the architecture's limit */
    TG_INSN_SCRATCH_BYTES = 16, /* one instruction and the int3 behind it */
};

/* Capstone handles; one per engine, not thread-safe. */
struct tg_insn_decoder;
struct tg_error *tg_insn_decoder_create(struct tg_insn_decoder **decoder);
void tg_insn_decoder_destroy(struct tg_insn_decoder *decoder); /* NULL is accepted */

/* A decoded instruction; plain data, copied freely, no Capstone inside. The first five are for callers. */
struct tg_insn {
    uint8_t bytes[TG_INSN_MAX_BYTES]; /* as at its place; zero from LENGTH on */
    uint8_t length;
    uint8_t bits; /* 64 or 32 */
    /* The displaced copy ends where it ends: run it with PTRACE_CONT, the int3 behind it stops the thread.
       Where false (it leaves by itself) it takes PTRACE_SINGLESTEP. A step can cost five times as much as an
       int3 on a virtual machine, ends after each iteration of a rep string instruction, and its TF can be
       seen. */
    bool runs_to_trap;
    uint8_t displaced[TG_INSN_SCRATCH_BYTES]; /* the copy that runs elsewhere, int3 behind it */

    uint8_t displaced_length;   /* without int3 */
    uint8_t operation;          /* enum tg_insn_operation; TG_INSN_OTHER: no emulation */
    uint8_t transfer;           /* enum tg_insn_transfer: where control goes from it */
    uint8_t width;              /* operand size in bytes */
    uint8_t reg;                /* destination, in encoding order (rax rcx rdx rbx rsp rbp...) */
    uint8_t source;             /* source register, TG_INSN_NO_REGISTER: IMMEDIATE */
    uint8_t condition;          /* condition of a jump, in encoding order; opcode of a loop */
    uint8_t base, index, scale; /* lea: TG_INSN_NO_REGISTER where absent; log2 of the factor */
    uint8_t scratch_reg;        /* borrowed by the displaced copy, or TG_INSN_NO_REGISTER */
    bool uses_rip;              /* has a RIP-relative memory operand */
    int64_t immediate;          /* immediate or displacement, sign-extended */
};

/* Decodes the instruction at ADDRESS from its ORIGINAL bytes (SIZE in [1, 15] available). INPUT error where
 * they are no whole instruction; UNSUPPORTED where nothing can be planted on it (int3, int1: the program's
 * own traps). Instructions newer than Capstone are understood where VEX or EVEX give them a regular
 * layout. */
struct tg_error *tg_insn_decode(struct tg_insn_decoder *decoder, unsigned bits, uint64_t address,
                                const uint8_t *bytes, size_t size, struct tg_insn *insn);

/* Access to the thread's memory for emulation; false = fault (the instruction is then displaced instead, to
 * fault, or to grow the stack, natively). Both must respect page protections as the program's own accesses
 * would (process_vm_readv and process_vm_writev do, /proc/PID/mem does not). */
struct tg_insn_memory {
    void *context;
    bool (*read)(void *context, uint64_t address, void *buffer, size_t size);
    bool (*write)(void *context, uint64_t address, const void *buffer, size_t size);
};

/* Does in REGS (rip = the instruction's address) and memory exactly what the instruction does; false (nothing
 * changed) where it is not one of those emulated, or where it would fault. Emulated are near ret, nop,
 * endbr, push and pop of registers, pushf, relative jumps, conditional ones and calls, jumps and calls
 * through a register, leave, lea, mov, add, sub, cmp, and, or, xor and test without a memory operand.
 * A thread with a user shadow stack must not be given here (call and ret would leave it behind). */
bool tg_insn_emulate(const struct tg_insn *insn, struct user_regs_struct *regs,
                     const struct tg_insn_memory *memory);

/* Prepares a displaced step of the instruction at ADDRESS: adjusts REGS (rip = SCRATCH; a borrowed register,
 * whose value goes to SAVED_REGISTER). At SCRATCH, private to the thread until the step is over and at any
 * distance from ADDRESS, the caller has put the TG_INSN_SCRATCH_BYTES of insn->displaced. It sets REGS,
 * resumes the thread by PTRACE_SINGLESTEP (PTRACE_CONT where insn->runs_to_trap) and calls tg_insn_finish at
 * its next stop, whatever stop that is. */
void tg_insn_displace(const struct tg_insn *insn, uint64_t address, uint64_t scratch,
                      struct user_regs_struct *regs, uint64_t *saved_register);

enum tg_insn_outcome {
    TG_INSN_DONE, /* the instruction completed: rip is where it leads */
    /* Did not run, or not wholly: a signal came before, it faulted, its system call is to be restarted, a rep
       instruction was interrupted. rip is ADDRESS again; displace anew when the thread is to go on there. */
    TG_INSN_AGAIN,
};

/* Turns the registers back after a displaced step: rip, the return address that a call pushed, the borrowed
 * register, what a system call saved of rip and TF. REGS are those of the stop that followed the step, be it
 * the step's SIGTRAP, a signal or a ptrace event; also those of a child that the displaced instruction
 * created (fork, vfork, clone start behind the copy as their parent does; MEMORY is then the child's).
 * A fault's siginfo may still hold SCRATCH: the caller puts ADDRESS into si_addr of SIGILL, SIGFPE,
 * SIGTRAP. */
enum tg_insn_outcome tg_insn_finish(const struct tg_insn *insn, uint64_t address, uint64_t scratch,
                                    uint64_t saved_register, struct user_regs_struct *regs,
                                    const struct tg_insn_memory *memory);

#endif
