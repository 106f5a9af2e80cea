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
    uint64_t cfa_at, rbp_at; /* of the step to its caller */
    uint64_t hash;           /* of it and its callers */
};

/* A stack that the thread had not long ago. */
struct tg_heap_known_stack {
    uint64_t hash;
    uint32_t id; /* 0: none */
};

enum { TG_HEAP_KNOWN_STACKS = 1024 };

struct tg_heap_walk_memory {
    uint64_t
        owner; /* __atomic; thread pointer, 0: nobody's. Whoever gets it after that thread's end goes on */
    volatile bool is_busy; /* in what a signal handler interrupted */
    uint32_t count;
    enum tg_stack_end end;
    uint64_t unloads, no_caller_at; /* the word that was 0 in place of a return address; 0: none */
    struct tg_heap_region region;   /* of the thread's stack */
    struct tg_heap_walk_frame frames[TG_AGENT_HEAP_MAX_DEPTH]; /* the outermost first */
    struct tg_heap_walk_frame fresh
        [TG_AGENT_HEAP_MAX_DEPTH]; /* while walking, the innermost first: the thread's stack may be small */
    struct tg_heap_known_stack known[TG_HEAP_KNOWN_STACKS];
};

/* The hash of the stack that the outermost COUNT frames are, at least one. */
static inline uint64_t tg_heap_walk_memory_hash(const struct tg_heap_walk_memory *memory, uint32_t count)
{
    return tg_heap_hash_mix(memory->frames[count - 1].hash, count);
}

#endif
