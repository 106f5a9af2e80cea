#include "recorder/agent/heap/walk.h"

#include "recorder/agent/heap/memory.h"
#include "recorder/agent/heap/region.h"
#include "recorder/agent/heap/rows.h"
#include "recorder/agent/heap/walk_memory.h"

#include <stdbool.h>

enum { MEMORIES = 256, LIMITED_MEMORIES = 16, OWN_TRIES = 8 };
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
    uint64_t cfa_at;      /* where the last step has read its CFA and rbp; 0: they are not from memory */
    uint64_t rbp_at;
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
static inline __attribute__((always_inline)) enum tg_stack_end step(struct walk *walk, uint64_t unloads)
{
    uint64_t row = tg_heap_row_of(walk->address - !walk->was_interrupted, unloads);
    uint64_t cfa = (uint64_t)tg_heap_row_cfa_offset(row);
    walk->cfa_at = walk->rbp_at = 0;
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
        walk->cfa_at = cfa;
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
        walk->rbp_at = at;
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

/* ---- the last stack */

static struct tg_heap_walk_memory *memories;
static uint32_t n_memories; /* a power of two */

void tg_heap_walk_prepare(void)
{
    n_memories = tg_heap_memory_is_limited() ? LIMITED_MEMORIES : MEMORIES;
    memories = tg_heap_memory_map(n_memories * sizeof memories[0], false);
}

/* Whether the callers of frame *I are those of the last stack; if not, *I is the last one that is. (A child that was forked
 * in the midst of a walk, by a signal handler, finds zeros.) */
static bool is_same(const struct tg_heap_walk_memory *memory, uint32_t *i)
{
    const struct tg_heap_walk_frame *frame = &memory->frames[*i];
    for (; *i > 0; frame--, --*i) {
        if (frame[-1].rsp <= frame->rsp || (frame->cfa_at != 0 && load(frame->cfa_at) != frame[-1].rsp))
            return false;
        if (frame->rbp_at != 0 && load(frame->rbp_at) != frame[-1].rbp)
            return false;
        if (load(frame[-1].rsp - 8) != frame[-1].address)
            return false;
    }
    return memory->no_caller_at == 0 || load(memory->no_caller_at) == 0;
}

static uint64_t hash_all(const uint64_t *addresses, size_t count, enum tg_stack_end end, uint64_t unloads)
{
    uint64_t hash = tg_heap_hash_mix(unloads, end);
    for (size_t i = count; i-- > 0;)
        hash = tg_heap_hash_mix(hash, addresses[i]);
    return tg_heap_hash_mix(hash, count);
}

static __attribute__((noinline)) uint64_t walk_anew(const void *frame, uint64_t unloads, size_t max)
{
    uint64_t addresses[TG_AGENT_HEAP_MAX_DEPTH];
    enum tg_stack_end end;
    size_t count = tg_heap_walk(frame, unloads, addresses, max, &end);
    return hash_all(addresses, count, end, unloads);
}

/* The COUNT fresh frames are in front of the first KEPT of the last stack. */
static uint64_t keep(struct tg_heap_walk_memory *memory, uint32_t kept, uint32_t count, uint64_t hash)
{
    struct tg_heap_walk_frame *to = &memory->frames[kept];
    for (uint32_t i = count; i-- > 0; to++) {
        *to = memory->fresh[i];
        to->hash = hash = tg_heap_hash_mix(hash, to->address);
    }
    memory->count = kept + count;
    return tg_heap_walk_memory_hash(memory, memory->count);
}

/* Walks until MEMORY knows the rest. False: that is none to be remembered; MEMORY's is none any more. */
static bool walk_to_known(struct tg_heap_walk_memory *memory, struct walk *walk, size_t max, uint64_t *hash)
{
    uint32_t count = 0, known = memory->count;
    enum tg_stack_end end = TG_STACK_WHOLE;
    uint64_t no_caller_at = 0;
    while (end == TG_STACK_WHOLE && walk->address != 0) {
        while (known > 0 && memory->frames[known - 1].rsp < walk->rsp)
            known--;
        const struct tg_heap_walk_frame *last = &memory->frames[known - (known > 0)];
        if (known > 0 && last->rsp == walk->rsp && last->address == walk->address && last->rbp == walk->rbp) {
            uint32_t i = known - 1;
            if (is_same(memory, &i)) {
                if (count + known > max)
                    break;
                *hash = keep(memory, known, count, last->hash);
                return true;
            }
            known = i;
        }
        if (count >= max)
            break;
        struct tg_heap_walk_frame *frame = &memory->fresh[count++];
        *frame = (struct tg_heap_walk_frame){.address = walk->address, .rsp = walk->rsp, .rbp = walk->rbp};
        end = step(walk, memory->unloads);
        frame->cfa_at = walk->cfa_at;
        frame->rbp_at = walk->rbp_at;
        if (walk->was_interrupted)
            break;
        no_caller_at = end == TG_STACK_WHOLE && walk->rsp != frame->rsp ? walk->rsp - 8 : 0;
    }
    bool is_over = walk->address == 0 || end == TG_STACK_NO_RULE;
    if (!is_over || walk->was_interrupted || count == 0) {
        memory->count = 0;
        return false;
    }
    memory->no_caller_at = end == TG_STACK_WHOLE ? no_caller_at : 0;
    memory->end = end;
    *hash = keep(memory, 0, count, tg_heap_hash_mix(memory->unloads, end));
    return true;
}

/* The calling thread's; NULL: all that it could have are others'. */
static inline struct tg_heap_walk_memory *own_memory(void)
{
    uint64_t own = (uintptr_t)__builtin_thread_pointer();
    uint64_t place = tg_heap_hash_mix(0, own >> 6) >> 32;
    for (unsigned i = 0; memories != NULL && i < OWN_TRIES; i++) {
        struct tg_heap_walk_memory *memory = &memories[(place + i) & (n_memories - 1)];
        uint64_t owner = __atomic_load_n(&memory->owner, __ATOMIC_RELAXED);
        if (owner == own)
            return memory;
        if (owner == 0 && __atomic_compare_exchange_n(&memory->owner, &owner, own, false, __ATOMIC_ACQ_REL,
                                                      __ATOMIC_RELAXED))
            return memory;
    }
    return NULL;
}

uint64_t tg_heap_walk_hash(const void *frame, uint64_t unloads, size_t max,
                           struct tg_heap_walk_memory **remembered)
{
    const uint64_t *words = frame;
    struct walk walk = {.address = words[1], .rsp = (uintptr_t)(words + 2), .rbp = words[0]};
    struct tg_heap_walk_memory *memory = own_memory();
    *remembered = NULL;
    if (memory == NULL || memory->is_busy)
        return walk_anew(frame, unloads, max);
    memory->is_busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (memory->unloads != unloads)
        memory->count = 0;
    memory->unloads = unloads;
    if (walk.rsp < memory->region.start || walk.rsp >= memory->region.end)
        memory->region = tg_heap_region_of(walk.rsp);
    walk.end = memory->region.end;
    uint64_t hash;
    if (walk_to_known(memory, &walk, max, &hash)) {
        *remembered = memory;
        return hash;
    }
    tg_heap_walk_release(memory);
    return walk_anew(frame, unloads, max);
}

void tg_heap_walk_release(struct tg_heap_walk_memory *memory)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memory->is_busy = false;
}
