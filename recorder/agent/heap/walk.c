#include "recorder/agent/heap/walk.h"

#include "recorder/agent/heap/region.h"
#include "recorder/agent/heap/rows.h"

#include <stdbool.h>

enum { /* in the ucontext_t that the kernel leaves on a signal handler's stack */
       CONTEXT_RBP = 120,
       CONTEXT_RSP = 160,
       CONTEXT_RIP = 168,
};

struct walk {
    uint64_t address;     /* of the frame's code */
    uint64_t rsp, rbp;    /* of the frame */
    uint64_t end;         /* of what may be read from RSP on */
    bool was_interrupted; /* by a signal: ADDRESS is no return address */
};

static inline uint64_t load(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address; // NOLINT: an address
}

static inline bool is_readable(const struct walk *walk, uint64_t address)
{
    return address >= walk->rsp && address <= walk->end - sizeof(uint64_t) && address % sizeof(uint64_t) == 0;
}

static enum tg_stack_end leave_handler(struct walk *walk)
{
    uint64_t context = walk->rsp;
    if (!is_readable(walk, context + CONTEXT_RIP))
        return TG_STACK_NO_MEMORY;
    walk->rbp = load(context + CONTEXT_RBP);
    walk->rsp = load(context + CONTEXT_RSP);
    walk->address = load(context + CONTEXT_RIP);
    walk->end = tg_heap_region_end(walk->rsp);
    walk->was_interrupted = true;
    return TG_STACK_WHOLE;
}

/* From WALK to its caller; TG_STACK_WHOLE: it is there, with ADDRESS 0 where there is none. */
static inline enum tg_stack_end step(struct walk *walk, uint64_t unloads)
{
    uint64_t row = tg_heap_row_of(walk->address - !walk->was_interrupted, unloads);
    uint64_t cfa = (uint64_t)tg_heap_row_cfa_offset(row);
    switch (tg_heap_row_cfa(row)) {
    case TG_HEAP_CFA_RSP:
        cfa += walk->rsp;
        break;
    case TG_HEAP_CFA_RBP:
        cfa += walk->rbp;
        break;
    case TG_HEAP_CFA_AT_RBP:
        cfa += walk->rbp;
        if (!is_readable(walk, cfa))
            return TG_STACK_NO_MEMORY;
        cfa = load(cfa);
        break;
    case TG_HEAP_CFA_SIGNAL:
        return leave_handler(walk);
    case TG_HEAP_CFA_END:
        walk->address = 0;
        return TG_STACK_WHOLE;
    case TG_HEAP_CFA_UNKNOWN:
    default:
        return TG_STACK_NO_RULE;
    }
    if (cfa <= walk->rsp)
        return TG_STACK_BACKWARD;
    if (!is_readable(walk, cfa - 8))
        return TG_STACK_NO_MEMORY;
    enum tg_heap_rbp rule = tg_heap_row_rbp(row);
    if (rule == TG_HEAP_RBP_AT_CFA || rule == TG_HEAP_RBP_AT_RBP) {
        uint64_t at = (rule == TG_HEAP_RBP_AT_CFA ? cfa : walk->rbp) + (uint64_t)tg_heap_row_rbp_offset(row);
        if (!is_readable(walk, at))
            return TG_STACK_NO_MEMORY;
        walk->rbp = load(at);
    } else if (rule == TG_HEAP_RBP_LOST) {
        walk->rbp = 0;
    }
    walk->address = load(cfa - 8);
    walk->rsp = cfa;
    walk->was_interrupted = false;
    return TG_STACK_WHOLE;
}

size_t tg_heap_walk(const void *frame, uint64_t unloads, uint64_t *addresses, size_t max,
                    enum tg_stack_end *end)
{
    const uint64_t *words = frame;
    struct walk walk = {.address = words[1], .rsp = (uintptr_t)(words + 2), .rbp = words[0]};
    size_t count = 0;
    walk.end = tg_heap_region_end(walk.rsp);
    *end = TG_STACK_WHOLE;
    while (*end == TG_STACK_WHOLE && walk.address != 0) {
        if (count + walk.was_interrupted >= max) {
            *end = TG_STACK_CUT;
            break;
        }
        if (walk.was_interrupted)
            addresses[count++] = 0;
        addresses[count++] = walk.address;
        *end = step(&walk, unloads);
    }
    return count;
}
