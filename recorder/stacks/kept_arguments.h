/* Arguments that a function, or those that it has called, still have. */
#ifndef TG_RECORDER_STACKS_KEPT_ARGUMENTS_H
#define TG_RECORDER_STACKS_KEPT_ARGUMENTS_H

#include "recorder/stacks/call_constants.h"
#include "recorder/stacks/call_stack.h"

/* What is known of functions, for all processes that have them. Not thread-safe. */
struct tg_kept_arguments;

/* NULL: no memory. */
struct tg_kept_arguments *tg_kept_arguments_create(void);
/* NULL is accepted. */
void tg_kept_arguments_destroy(struct tg_kept_arguments *kept);

/* Adds to ARGUMENTS those of WANTED (bits) of the function at INDEX of STACK, whose UNWOUND frames are there, as far as their
 * places are certain: a register that those who are called keep, a place in the frame that nobody else knows. Of those
 * that are not WIDE the lower half is enough. The thread is stopped. */
void tg_kept_arguments_find(struct tg_kept_arguments *kept, struct tg_modules *modules,
                            const struct tg_inspect_memory *memory, const struct tg_call_stack *stack,
                            size_t index, uint16_t wanted, uint16_t wide,
                            struct tg_call_arguments *arguments);

/* The same where the function is known to begin at ENTRY; where that is 0, its symbol says it. */
void tg_kept_arguments_find_at(struct tg_kept_arguments *kept, struct tg_modules *modules,
                               const struct tg_inspect_memory *memory, const struct tg_call_stack *stack,
                               size_t index, uint64_t entry, uint16_t wanted, uint16_t wide,
                               struct tg_call_arguments *arguments);

#endif
