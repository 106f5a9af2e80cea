/* What is remembered of a thread's last stack.
 *
 * A step depends on the frame's state (its code, rsp and rbp), and on the words of the stack that it reads. Where a walk
 * comes to a state of the last one, and the words that the last one read from there on are what they were, it would go
 * the same way: each word is compared instead, in the order in which it was read. */
#ifndef TG_RECORDER_AGENT_HEAP_WALK_MEMORY_H
#define TG_RECORDER_AGENT_HEAP_WALK_MEMORY_H

#include "recorder/agent/contract.h"
#include "recorder/agent/heap/hash_set.h"
#include "recorder/agent/heap/region.h"

#include "format/event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct tg_heap_walk_frame {
    uint64_t address, rsp, rbp;
    uint64_t sum;   /* of it and its callers (tg_heap_walk_sum) */
    uint32_t words; /* of WORDS up to and with those that its step to its caller reads */
    uint32_t cfa_at,
        rbp_at; /* words that its step to the caller reads and that decide: bytes above RSP, + 1; 0: none */
    bool needs_rbp;           /* RBP decides about its callers */
    bool uses_rbp, keeps_rbp; /* the step to its caller does, and leaves RBP to that one */
};

/* A word of the stack that a step has read. */
struct tg_heap_walk_word {
    uint64_t at, value;
};

enum {
    TG_HEAP_KNOWN_STACKS = 1 << 14,
    TG_HEAP_KNOWN_STACKS_OF_FEW =
        1 << 10, /* used where few are asked for: less of memory is touched for the first time */
    TG_HEAP_WALK_FRAMES = 4 * TG_AGENT_HEAP_MAX_DEPTH, /* more of them than a stack that is told may have */
};

struct tg_heap_walk_memory {
    uint64_t
        owner; /* __atomic; thread pointer, 0: nobody's. Whoever gets it after that thread's end goes on */
    volatile bool is_busy; /* in what a signal handler interrupted */
    uint32_t count;
    uint32_t from; /* the first of FRAMES that belongs to the stack found last; those before it are cut off */
    bool is_open;  /* the first of FRAMES has callers that are not there */
    enum tg_stack_end end;          /* of FRAMES */
    uint64_t unloads, no_caller_at; /* the word that was 0 in place of a return address; 0: none */
    struct tg_heap_region region;   /* of the thread's stack */
    uint64_t told_start, told_end;  /* an object of the program that is told */
    struct tg_heap_walk_frame frames[TG_HEAP_WALK_FRAMES]; /* the outermost first */
    struct tg_heap_walk_word
        words[3 * TG_HEAP_WALK_FRAMES]; /* what steps from FRAMES read, in the same order */
    struct tg_heap_walk_frame
        fresh[TG_HEAP_WALK_FRAMES]; /* while walking, the innermost first: the thread's stack may be small */
    uint64_t known[TG_HEAP_KNOWN_STACKS]; /* stacks that it had not long ago (tg_heap_walk_known) */
};

extern uint32_t tg_heap_walk_last_known; /* so many of KNOWN are used, less one */

/* The sum of a frame with ADDRESS whose callers have SUM, 0 none. What some frames add does not depend on those outside of them:
 * it is what is left of a sum when that of the others is taken away, times FACTOR for each frame. */
enum { TG_HEAP_WALK_FACTOR = 0x3c6ef36b };
static inline uint64_t tg_heap_walk_sum(uint64_t sum, uint64_t address)
{
    return sum * TG_HEAP_WALK_FACTOR + tg_heap_hash_mix(UINT64_C(0x2545f4914f6cdd1d), address);
}

/* The hash of a stack of COUNT frames with SUM. */
static inline uint64_t tg_heap_walk_sum_hash(uint64_t sum, uint64_t count, enum tg_stack_end end,
                                             uint64_t unloads)
{
    return tg_heap_hash_mix((unloads * TG_AGENT_HEAP_MAX_DEPTH + count) * UINT64_C(0x2545f4914f6cdd1d) + end,
                            sum);
}

/* In the place of a stack with HASH: the highest bits of that, then its id, of BITS; 0: none. The lowest bits are the place. */
static inline uint64_t *tg_heap_walk_known(struct tg_heap_walk_memory *memory, uint64_t hash)
{
    return &memory->known[hash & tg_heap_walk_last_known];
}

/* The hash of the stack that the outermost COUNT frames are, at least one. */
static inline uint64_t tg_heap_walk_memory_hash(const struct tg_heap_walk_memory *memory, uint32_t count)
{
    return tg_heap_walk_sum_hash(memory->frames[count - 1].sum, count, memory->end, memory->unloads);
}

/* As tg_heap_walk_hash says. */
static inline void tg_heap_walk_release(struct tg_heap_walk_memory *memory)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memory->is_busy = false;
}

#endif
