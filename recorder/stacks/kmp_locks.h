/* Owners of the locks of LLVM's OpenMP runtime and Intel's: a lock that has an owner has the number that the runtime gave that
 * thread. Where in the lock, and in what form, differs by the kind of lock (KMP_LOCK_KIND) and by release, and is
 * written nowhere but in the code that waits for it. */
#ifndef TG_RECORDER_STACKS_KMP_LOCKS_H
#define TG_RECORDER_STACKS_KMP_LOCKS_H

#include "recorder/stacks/call_stack.h"
#include "recorder/stacks/kept_arguments.h"

/* How a word of a lock tells its owner. */
struct tg_kmp_form {
    bool is_known;
    bool
        is_whole; /* WORD == (owner << SHIFT) + BIAS, and perhaps EXTRA; else owner == (WORD >> SHIFT) + BIAS */
    int64_t offset; /* of the word in the lock */
    uint8_t shift;
    int32_t bias, extra;
};

/* As SIZE bytes CODE at ADDRESS have it, a function with a lock in argument LOCK and the number of its own thread in the second
 * one. */
struct tg_kmp_form tg_kmp_form_read(const uint8_t *code, size_t size, uint64_t address, int lock);

/* The owner that WORD tells, -1 none. */
int32_t tg_kmp_form_owner(const struct tg_kmp_form *form, int32_t word);

/* A lock that a thread waits for. */
struct tg_kmp_wait {
    uint64_t address; /* of the word */
    int32_t owner;    /* by number */
    int32_t waiter;   /* number that the thread that waits has by its stack, -1 unknown */
};

/* The lock that STACK waits for, of a stopped thread, whose UNWOUND frames are there; false where it waits for none, or the
 * owner is unknown. */
bool tg_kmp_wait_find(const struct tg_stack_process *process, struct tg_kept_arguments *kept,
                      const struct tg_inspect_memory *memory, const struct tg_call_stack *stack,
                      struct tg_kmp_wait *wait);

#endif
