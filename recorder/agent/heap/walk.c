#include "recorder/agent/heap/walk.h"

#include "recorder/agent/heap/heap.h"
#include "recorder/agent/heap/memory.h"
#include "recorder/agent/heap/region.h"
#include "recorder/agent/heap/rows.h"
#include "recorder/agent/heap/walk_memory.h"
#include "recorder/agent/repeat.h"

#include <stdbool.h>

enum { MEMORIES = 256, LIMITED_MEMORIES = 4, OWN_TRIES = 8, WORDS_AT_ONCE = 4 };
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
    bool used_rbp, kept_rbp; /* by the last step: needed, left as it was */
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
    enum tg_heap_rbp rule = tg_heap_row_rbp(row);
    walk->cfa_at = walk->rbp_at = 0;
    walk->used_rbp = rule == TG_HEAP_RBP_AT_RBP;
    walk->kept_rbp = rule == TG_HEAP_RBP_SAME;
    switch (tg_heap_row_cfa(row)) {
    case TG_HEAP_CFA_RSP:
        cfa += walk->rsp;
        break;
    case TG_HEAP_CFA_RBP:
        walk->used_rbp = true;
        cfa += walk->rbp;
        break;
    case TG_HEAP_CFA_AT_RBP:
        walk->used_rbp = true;
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
uint32_t tg_heap_walk_last_known = TG_HEAP_KNOWN_STACKS - 1;

void tg_heap_walk_prepare(void)
{
    n_memories = tg_heap_memory_is_limited() ? LIMITED_MEMORIES : MEMORIES;
    if (tg_heap.settings.mode == TG_AGENT_HEAP_SAMPLE) {
        tg_heap_walk_last_known = TG_HEAP_KNOWN_STACKS_OF_FEW - 1;
        tg_heap_row_last = TG_HEAP_ROW_SLOTS_OF_FEW - 1;
    }
    memories = tg_heap_memory_map(n_memories * sizeof memories[0], false);
}

/* Whether WORDS_AT_ONCE words are what they were, and none of them is below RSP. */
static inline __attribute__((always_inline)) bool are_same(const struct tg_heap_walk_word *words,
                                                           uint64_t rsp)
{
    uint64_t at[WORDS_AT_ONCE], differs = 0;
    bool is_below = false;
    TG_AGENT_UNROLL
    for (unsigned i = 0; i < WORDS_AT_ONCE; i++) {
        at[i] = words[i].at;
        is_below |= at[i] < rsp;
    }
    if (is_below)
        return false;
    TG_AGENT_UNROLL
    for (unsigned i = 0; i < WORDS_AT_ONCE; i++)
        differs |= load(at[i]) ^ words[i].value;
    return differs == 0;
}

/* Whether the callers of frame *I are those of the last stack, up to frame STOP; if not, *I is the last one whose caller is
 * another. RSP: nothing below is read. (A child that was forked in the midst of a walk, by a signal handler, finds zeros.) */
static inline __attribute__((always_inline)) bool is_same(const struct tg_heap_walk_memory *memory,
                                                          uint32_t *i, uint32_t stop, uint64_t rsp)
{
    const struct tg_heap_walk_word *first = memory->words + memory->frames[stop].words;
    const struct tg_heap_walk_word *last = memory->words + memory->frames[*i].words, *word = last;
    while (word - first >= WORDS_AT_ONCE && are_same(word - WORDS_AT_ONCE, rsp))
        word -= WORDS_AT_ONCE;
    while (word > first && word[-1].at >= rsp && load(word[-1].at) == word[-1].value)
        word--;
    if (word == first)
        return last > first; /* each step reads one */
    uint32_t at = (uint32_t)(word - memory->words), frame = *i;
    while (frame > stop + 1 && memory->frames[frame - 1].words >= at)
        frame--;
    *i = frame;
    return false;
}

static uint64_t hash_all(const uint64_t *addresses, size_t count, enum tg_stack_end end, uint64_t unloads)
{
    uint64_t sum = 0;
    for (size_t i = count; i-- > 0;)
        sum = tg_heap_walk_sum(sum, addresses[i]);
    return tg_heap_walk_sum_hash(sum, count, end, unloads);
}

static __attribute__((noinline)) uint64_t walk_anew(const void *frame, uint64_t unloads, size_t max)
{
    uint64_t addresses[TG_AGENT_HEAP_MAX_DEPTH];
    enum tg_stack_end end;
    size_t count = tg_heap_walk(frame, unloads, addresses, max, &end);
    return hash_all(addresses, count, end, unloads);
}

/* Puts the words that FRAME's step has read behind those of the frames outside of it, which are there. */
static inline __attribute__((always_inline)) void put_words(struct tg_heap_walk_memory *memory,
                                                            struct tg_heap_walk_frame *frame)
{
    frame->words = 0;
    if (frame == memory->frames)
        return;
    const struct tg_heap_walk_frame *caller = frame - 1;
    uint32_t n = caller->words;
    if (frame->rbp_at != 0)
        memory->words[n++] = (struct tg_heap_walk_word){frame->rsp + frame->rbp_at - 1, caller->rbp};
    if (frame->cfa_at != 0)
        memory->words[n++] = (struct tg_heap_walk_word){frame->rsp + frame->cfa_at - 1, caller->rsp};
    memory->words[n++] = (struct tg_heap_walk_word){caller->rsp - 8, caller->address};
    frame->words = n;
}

/* Makes room for COUNT frames behind the first KEPT, by dropping the outermost; returns how many are left. */
static __attribute__((noinline)) uint32_t drop_outermost(struct tg_heap_walk_memory *memory, uint32_t kept,
                                                         uint32_t count)
{
    enum { LEFT = TG_HEAP_WALK_FRAMES / 2 };
    uint32_t left = count < LEFT ? LEFT - count : 0;
    for (uint32_t i = 0; i < left; i++) {
        memory->frames[i] = memory->frames[kept - left + i];
        put_words(memory, &memory->frames[i]);
    }
    memory->is_open = true;
    return left;
}

/* The COUNT fresh frames are in front of the first KEPT of the last stack; returns how many these are together. */
static uint32_t keep(struct tg_heap_walk_memory *memory, uint32_t kept, uint32_t count)
{
    if (__builtin_expect(kept + count > TG_HEAP_WALK_FRAMES, 0))
        kept = drop_outermost(memory, kept, count);
    struct tg_heap_walk_frame *to = &memory->frames[kept];
    uint64_t sum = kept > 0 ? to[-1].sum : 0;
    bool needs_rbp = kept > 0 && to[-1].needs_rbp;
    for (uint32_t i = count; i-- > 0; to++) {
        *to = memory->fresh[i];
        to->sum = sum = tg_heap_walk_sum(sum, to->address);
        if (!needs_rbp)
            to->rbp_at = 0;
        to->needs_rbp = needs_rbp = to->uses_rbp || (to->keeps_rbp && needs_rbp);
        put_words(memory, to);
    }
    return memory->count = kept + count;
}

static uint64_t factor_power(size_t n)
{
    uint64_t power = 1;
    for (uint64_t square = TG_HEAP_WALK_FACTOR; n > 0; n >>= 1, square *= square)
        power *= (n & 1) != 0 ? square : 1;
    return power;
}

/* The hash of the innermost MAX of COUNT frames, or of all where there are no more. */
static uint64_t hash_of(struct tg_heap_walk_memory *memory, uint32_t count, size_t max)
{
    uint32_t from = count > max ? count - (uint32_t)max : 0;
    memory->from = from;
    if (from == 0)
        return tg_heap_walk_memory_hash(memory, count);
    uint64_t sum = memory->frames[count - 1].sum - memory->frames[from - 1].sum * factor_power(max);
    return tg_heap_walk_sum_hash(sum, max, TG_STACK_CUT, memory->unloads);
}

/* Whether MEMORY's first KNOWN frames, the last of which WALK has come to with COUNT others, are what follows, as far as it
 * belongs to a stack of MAX frames: to know that these are not all, one more. *KNOWN: of them those that may be. */
static inline __attribute__((always_inline)) bool
is_known(const struct tg_heap_walk_memory *memory, uint32_t count, size_t max, uint32_t *known, uint64_t rsp)
{
    uint32_t total = count + *known, i = *known - 1;
    bool is_cut = total > max;
    if (memory->is_open && !is_cut) {
        *known = 0;
        return false;
    }
    uint32_t stop = is_cut ? total - (uint32_t)max - 1 : 0;
    if ((stop >= i || is_same(memory, &i, stop, rsp)) &&
        (is_cut || memory->no_caller_at == 0 || load(memory->no_caller_at) == 0))
        return true;
    *known = i;
    return false;
}

/* ADDRESS as FRAME has it. */
static uint32_t word_at(const struct tg_heap_walk_frame *frame, uint64_t address)
{
    return address != 0 && address - frame->rsp < UINT32_MAX ? (uint32_t)(address - frame->rsp) + 1 : 0;
}

/* Walks until MEMORY knows the rest. False: that is none to be remembered; MEMORY's is none any more. */
static bool walk_to_known(struct tg_heap_walk_memory *memory, struct walk *walk, size_t max, uint64_t *hash)
{
    uint32_t count = 0, known = memory->count;
    enum tg_stack_end end = TG_STACK_WHOLE;
    uint64_t no_caller_at = 0;
    while (end == TG_STACK_WHOLE && walk->address != 0 && count < TG_HEAP_WALK_FRAMES) {
        while (known > 0 && memory->frames[known - 1].rsp < walk->rsp)
            known--;
        const struct tg_heap_walk_frame *last = &memory->frames[known - (known > 0)];
        if (known > 0 && last->rsp == walk->rsp && last->address == walk->address &&
            (!last->needs_rbp || last->rbp == walk->rbp) && is_known(memory, count, max, &known, walk->rsp)) {
            *hash = hash_of(memory, keep(memory, known, count), max);
            return true;
        }
        struct tg_heap_walk_frame *frame = &memory->fresh[count++];
        frame->address = walk->address;
        frame->rsp = walk->rsp;
        frame->rbp = walk->rbp;
        end = step(walk, memory->unloads);
        if (walk->was_interrupted || walk->rsp - frame->rsp >= UINT32_MAX)
            break;
        frame->cfa_at = word_at(frame, walk->cfa_at);
        frame->rbp_at = word_at(frame, walk->rbp_at);
        frame->uses_rbp = walk->used_rbp;
        frame->keeps_rbp = walk->kept_rbp;
        no_caller_at = end == TG_STACK_WHOLE && walk->rsp != frame->rsp ? walk->rsp - 8 : 0;
    }
    bool is_open = count == TG_HEAP_WALK_FRAMES && end == TG_STACK_WHOLE && walk->address != 0;
    bool is_over = walk->address == 0 || end == TG_STACK_NO_RULE || is_open;
    if (!is_over || walk->was_interrupted || count == 0) {
        memory->count = 0;
        return false;
    }
    memory->no_caller_at = end == TG_STACK_WHOLE && !is_open ? no_caller_at : 0;
    memory->end = end;
    memory->is_open = is_open;
    *hash = hash_of(memory, keep(memory, 0, count), max);
    return true;
}

/* The calling thread's, which it looks for; NULL: all that it could have are others'. */
static __attribute__((noinline)) struct tg_heap_walk_memory *find_own(uint64_t own)
{
    uint64_t place = tg_heap_hash_mix(0, own >> 6) >> 32;
    for (unsigned i = 0; memories != NULL && i < OWN_TRIES; i++) {
        struct tg_heap_walk_memory *memory = &memories[(place + i) & (n_memories - 1)];
        uint64_t owner = __atomic_load_n(&memory->owner, __ATOMIC_RELAXED);
        if (owner == own || (owner == 0 && __atomic_compare_exchange_n(&memory->owner, &owner, own, false,
                                                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))) {
            tg_heap_thread.walk = memory;
            return memory;
        }
    }
    return NULL;
}

/* A forked child finds its own empty. */
static inline struct tg_heap_walk_memory *own_memory(void)
{
    uint64_t own = (uintptr_t)__builtin_thread_pointer();
    struct tg_heap_walk_memory *memory = tg_heap_thread.walk;
    return TG_AGENT_LIKELY(memory != NULL && __atomic_load_n(&memory->owner, __ATOMIC_RELAXED) == own)
               ? memory
               : find_own(own);
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
    if (memory->unloads != unloads) {
        memory->count = 0;
        memory->told_start = memory->told_end = 0;
    }
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
