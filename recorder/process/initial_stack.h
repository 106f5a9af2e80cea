/* The initial stack of a 64-bit program as the kernel leaves it at exec (System V ABI, AMD64 supplement,
 * 3.4.1), and how variables are added to the environment in it before the program's first instruction runs:
 *
 *     before    argc argv.. NULL envp.. NULL auxv.. | strings of the kernel's
 *     after     argc argv.. NULL envp.. added.. NULL auxv.. "added" strings | strings of the kernel's
 *
 * The block of words moves down as a whole, by a multiple of 16 bytes, and makes room for the added strings
 * above it: what lies below the stack pointer is the program's to overwrite. What the kernel itself knows of
 * the stack (/proc/PID/environ, cmdline, auxv) is elsewhere and stays as it was. */
#ifndef TG_RECORDER_PROCESS_INITIAL_STACK_H
#define TG_RECORDER_PROCESS_INITIAL_STACK_H

#include "format/base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    TG_INITIAL_STACK_MAX_BYTES = 16 << 20, /* limit for words, and for strings; the kernel's is 6 MiB */
    TG_INITIAL_STACK_MAX_ADDED = 64,
};

/* Filled by read; the caller's storage. Indices are into WORDS. */
struct tg_initial_stack {
    uint64_t address; /* address of the first word */
    uint64_t *words;  /* from argc to the value of AT_NULL */
    size_t n_words;
    size_t variables; /* the first of the environment */
    size_t n_variables;
    size_t auxv;
    char *strings; /* strings of the environment, as in memory from STRINGS_AT on, and a NUL behind them */
    uint64_t strings_at;
    size_t n_strings; /* bytes */
};

/* Reads what is at ADDRESS, the stack pointer of a program that has not begun, in the memory of PID. INPUT
 * error where that is no initial stack; OS error where it cannot be read. */
struct tg_error *tg_initial_stack_read(pid_t pid, uint64_t address, struct tg_initial_stack *stack);
void tg_initial_stack_deinit(struct tg_initial_stack *stack);

/* The value of NAME that comes last in the environment (which is the one that counts for the dynamic loader;
 * for getenv it is the first), NULL where there is none. Valid as long as STACK. */
const char *tg_initial_stack_variable(const struct tg_initial_stack *stack, const char *name);

/* The value of the auxiliary vector's first entry of TYPE, 0 where there is none. */
uint64_t tg_initial_stack_auxiliary(const struct tg_initial_stack *stack, uint64_t type);

/* Bytes that are to be written to memory. */
struct tg_stack_image {
    uint64_t address; /* the new stack pointer */
    void *bytes;      /* up to where the block of words ended before; free with free */
    size_t size;
};

/* STACK with COUNT variables (NAME=VALUE; equal pointers share one string) behind all others, at most
 * TG_INITIAL_STACK_MAX_ADDED. Where COUNT is odd an unused word behind the auxiliary vector keeps the stack
 * aligned. Changes nothing yet. */
struct tg_error *tg_initial_stack_add(const struct tg_initial_stack *stack, const char *const *variables,
                                      size_t count, struct tg_stack_image *image);

/* Writes IMAGE to the memory of TID, a stopped thread that has not begun; the stack pointer is the caller's
 * to set. TARGET error where it cannot be written: then memory is as STACK has it. */
struct tg_error *tg_initial_stack_write(pid_t tid, const struct tg_initial_stack *stack,
                                        const struct tg_stack_image *image);
/* Undoes that. */
void tg_initial_stack_write_back(pid_t tid, const struct tg_initial_stack *stack);

#endif
