/* Rules that find a caller's registers while its callee is at a certain address: CFI in short
 * form. */
#ifndef TG_RECORDER_DWARF_UNWIND_RULES_H
#define TG_RECORDER_DWARF_UNWIND_RULES_H

#include "recorder/dwarf/target.h"

#include <elfutils/libdw.h>

enum tg_unwind_kind {
    TG_UNWIND_UNDEFINED,  /* cannot be known */
    TG_UNWIND_SAME,       /* as in the callee */
    TG_UNWIND_AT,         /* in memory at CFA + offset */
    TG_UNWIND_IS,         /* CFA + offset itself */
    TG_UNWIND_REGISTER,   /* in register number OFFSET of the callee */
    TG_UNWIND_EXPRESSION, /* yields an address in memory, or the value, as its last operation says */
};

/* One register of the caller. */
struct tg_unwind_rule {
    uint8_t kind; /* enum tg_unwind_kind */
    uint16_t n_ops;
    union {
        int64_t offset;
        const Dwarf_Op *ops; /* the Dwarf_CFI's */
    };
};

/* All of them. */
struct tg_unwind_rules {
    bool is_signal; /* the callee is a signal trampoline: the caller was interrupted */
    /* the CFA is register + offset, or, register being TG_REGISTER_COUNT, what the operations yield */
    uint8_t cfa_register;
    struct tg_unwind_rule cfa;
    struct tg_unwind_rule registers[TG_REGISTER_COUNT];
};

/* Rules of one CFI, cached by address: at most 16,384. Not thread-safe. */
struct tg_unwind_table;

/* NULL: no memory. */
struct tg_unwind_table *tg_unwind_table_create(void);
void tg_unwind_table_destroy(struct tg_unwind_table *table);

/* The rules of CFI (which may be NULL, and is the same one each time) at ADDRESS. NULL where there are none;
 * valid until the next call. */
const struct tg_unwind_rules *tg_unwind_table_find(struct tg_unwind_table *table, Dwarf_CFI *cfi,
                                                   uint64_t address);

#endif
