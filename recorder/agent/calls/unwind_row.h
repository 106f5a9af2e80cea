/* Unwind rows of an object's functions, by its table (.eh_frame_hdr, .eh_frame): enough of DWARF's call
 * frame information for the rows that compilers write; whatever is beyond that is refused.
 *
 * The tables are the program's own and are read where they are mapped. Async-signal-safe. */
#ifndef TG_RECORDER_AGENT_CALLS_UNWIND_ROW_H
#define TG_RECORDER_AGENT_CALLS_UNWIND_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tg_unwind_register {
    TG_UNWIND_RBX = 3,
    TG_UNWIND_RBP = 6,
    TG_UNWIND_RSP = 7,
    TG_UNWIND_RIP = 16,
};

struct tg_unwind_table {
    const unsigned char *header; /* .eh_frame_hdr */
    const unsigned char *entries;
    size_t count;
};

struct tg_unwind_function {
    uint64_t start;
    uint64_t end;
    bool has_personality; /* code of it may run when the stack is unwound */
    bool is_signal;       /* a signal handler's way back: its rows are of another kind */
    int64_t data_alignment;
    uint64_t code_alignment;
    const unsigned char *initial, *initial_end; /* instructions of the CIE */
    const unsigned char *program, *program_end; /* instructions of the FDE */
};

enum tg_unwind_row_rule {
    TG_UNWIND_ROW_SAME,
    TG_UNWIND_ROW_AT_CFA, /* in memory, at an offset from the CFA */
    TG_UNWIND_ROW_AT_RBP, /* in memory, at an offset from the function's own rbp */
    TG_UNWIND_ROW_OTHER,
};

struct tg_unwind_row {
    unsigned cfa_register; /* enum tg_unwind_register */
    int64_t cfa_offset;
    bool cfa_is_at_rbp; /* the CFA is in memory at rbp + CFA_OFFSET instead */
    bool is_outermost;  /* there is no caller */
    unsigned n_saved;   /* registers whose values are elsewhere, the return address not counted */
    enum tg_unwind_row_rule rbp_rule;
    int64_t rbp_offset; /* 0 where the rule has none */
};

/* HEADER: what PT_GNU_EH_FRAME says. False where there is no search table of the usual kind. */
bool tg_unwind_table_open(const void *header, struct tg_unwind_table *table);

/* Index of the function that may hold ADDRESS; `count` where there is none. */
size_t tg_unwind_table_find(const struct tg_unwind_table *table, uint64_t address);

/* Function INDEX; false where it cannot be judged. */
bool tg_unwind_table_at(const struct tg_unwind_table *table, size_t index,
                        struct tg_unwind_function *function);

/* The row for ADDRESS in FUNCTION; false where it cannot be judged. */
bool tg_unwind_row_at(const struct tg_unwind_function *function, uint64_t address, struct tg_unwind_row *row);

#endif
