/* How to get from a frame to its caller's, for each code address that was asked for once: unwind rows in one word.
 * Async-signal-safe, without a lock. */
#ifndef TG_RECORDER_AGENT_HEAP_ROWS_H
#define TG_RECORDER_AGENT_HEAP_ROWS_H

#include <stdint.h>

/* A row: bits 0-2 enum tg_heap_cfa, 3-4 enum tg_heap_rbp, 8-39 the CFA's offset, 40-63 rbp's, both signed. */
enum tg_heap_cfa {
    TG_HEAP_CFA_UNKNOWN, /* there is no row for the address */
    TG_HEAP_CFA_RSP,     /* rsp + offset */
    TG_HEAP_CFA_RBP,     /* rbp + offset */
    TG_HEAP_CFA_AT_RBP,  /* in memory at rbp + offset: a function that has aligned its stack */
    TG_HEAP_CFA_SIGNAL,  /* a signal handler's way back: what was interrupted is in the ucontext at rsp */
    TG_HEAP_CFA_END,     /* there is no caller */
};
enum tg_heap_rbp {
    TG_HEAP_RBP_SAME,
    TG_HEAP_RBP_AT_CFA, /* in memory at the CFA + offset */
    TG_HEAP_RBP_AT_RBP, /* in memory at rbp + offset */
    TG_HEAP_RBP_LOST,
};

static inline enum tg_heap_cfa tg_heap_row_cfa(uint64_t row)
{
    return (enum tg_heap_cfa)(row & 7);
}

static inline enum tg_heap_rbp tg_heap_row_rbp(uint64_t row)
{
    return (enum tg_heap_rbp)(row >> 3 & 3);
}

static inline int64_t tg_heap_row_cfa_offset(uint64_t row)
{
    return (int32_t)(uint32_t)(row >> 8);
}

static inline int64_t tg_heap_row_rbp_offset(uint64_t row)
{
    return (int64_t)row >> 40;
}

/* The row of the instruction at ADDRESS, made anew. UNLOADS: as tg_agent_unloads. */
uint64_t tg_heap_row_make(uint64_t address, uint64_t unloads);

enum { TG_HEAP_ROW_SLOTS = 1 << 15 };
struct tg_heap_row_slot {
    uint64_t key, row; /* __atomic; the key is the address and the rest, exclusive-or the row */
};
extern struct tg_heap_row_slot tg_heap_row_slots[TG_HEAP_ROW_SLOTS];

/* So many of the slots are used, less one. Whoever asks seldom has each page that is touched for the first time to pay for. */
extern uint32_t tg_heap_row_last;
enum { TG_HEAP_ROW_SLOTS_OF_FEW = 1 << 12 };

/* The first of the two slots where the row of ADDRESS may be. */
static inline struct tg_heap_row_slot *tg_heap_row_pair(uint64_t address)
{
    return &tg_heap_row_slots[(address ^ address >> 14) << 1 & tg_heap_row_last];
}

/* The row of the instruction at ADDRESS. Libraries that come and go change it: UNLOADS counts. */
static inline uint64_t tg_heap_row_of(uint64_t address, uint64_t unloads)
{
    const struct tg_heap_row_slot *slot = tg_heap_row_pair(address);
    for (unsigned i = 0; i < 2; i++, slot++) {
        uint64_t row = __atomic_load_n(&slot->row, __ATOMIC_RELAXED);
        uint64_t key = __atomic_load_n(&slot->key, __ATOMIC_RELAXED);
        if (__builtin_expect((key ^ row) == (address ^ unloads << 48), 1))
            return row;
    }
    return tg_heap_row_make(address, unloads);
}

#endif
