#include "recorder/dwarf/unwind_rules.h"

#include "format/base/hash.h"

#include <dwarf.h>
#include <stdlib.h>

enum { MAX_ENTRIES = 1 << 14 };

struct entry {
    uint64_t address;
    bool found;
    struct tg_unwind_rules rules;
    UT_hash_handle hh;
};

struct tg_unwind_table {
    struct entry *entries;
    struct entry last; /* the latest one where memory is short */
};

struct tg_unwind_table *tg_unwind_table_create(void)
{
    return calloc(1, sizeof(struct tg_unwind_table));
}

static void clear(struct tg_unwind_table *table)
{
    struct entry *entry, *next;
    HASH_ITER (hh, table->entries, entry, next) {
        HASH_DEL(table->entries, entry);
        free(entry);
    }
}

void tg_unwind_table_destroy(struct tg_unwind_table *table)
{
    if (table == NULL)
        return;
    clear(table);
    free(table);
}

/* By the calling convention (System V ABI, AMD64 supplement). */
static bool is_preserved(int number)
{
    return number == TG_RBX || number == TG_RBP || (number >= TG_R12 && number <= TG_R15);
}

/* Takes libdw's rule of one register; see dwarf_frame_register for the two meanings of no operations. */
static struct tg_unwind_rule rule_of(Dwarf_Frame *frame, int number)
{
    struct tg_unwind_rule rule = {.kind = TG_UNWIND_UNDEFINED};
    Dwarf_Op memory[3], *ops;
    size_t count;
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0 || count > UINT16_MAX)
        return rule;
    if (count == 0) {
        /* libdw says undefined also where nothing is said: what callees preserve is then as it was */
        rule.kind = ops == NULL || is_preserved(number) ? TG_UNWIND_SAME : TG_UNWIND_UNDEFINED;
    } else if (ops != memory) {
        rule.kind = TG_UNWIND_EXPRESSION;
        rule.ops = ops;
        rule.n_ops = (uint16_t)count;
    } else if (ops[0].atom == DW_OP_regx) {
        rule.kind = TG_UNWIND_REGISTER;
        rule.offset = (int64_t)ops[0].number;
    } else if (ops[0].atom == DW_OP_call_frame_cfa) {
        rule.kind = ops[count - 1].atom == DW_OP_stack_value ? TG_UNWIND_IS : TG_UNWIND_AT;
        if (count > 1 && ops[1].atom == DW_OP_plus_uconst)
            rule.offset = (int64_t)ops[1].number;
    }
    return rule;
}

static bool read_rules(Dwarf_CFI *cfi, uint64_t address, struct tg_unwind_rules *rules)
{
    Dwarf_Frame *frame;
    if (cfi == NULL || dwarf_cfi_addrframe(cfi, address, &frame) != 0)
        return false;
    *rules = (struct tg_unwind_rules){.cfa_register = TG_REGISTER_COUNT};
    Dwarf_Op *ops;
    size_t count;
    int return_column = dwarf_frame_info(frame, NULL, NULL, &rules->is_signal);
    bool ok =
        return_column >= 0 && dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 0 && count <= UINT16_MAX;
    if (ok && count == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < TG_REGISTER_COUNT) {
        rules->cfa_register = (uint8_t)ops[0].number;
        rules->cfa = (struct tg_unwind_rule){.kind = TG_UNWIND_IS, .offset = (int64_t)ops[0].number2};
    } else if (ok && count == 1 && ops[0].atom == DW_OP_bregx) {
        ok = false; /* a register that no code has for its stack */
    } else if (ok) {
        rules->cfa =
            (struct tg_unwind_rule){.kind = TG_UNWIND_EXPRESSION, .ops = ops, .n_ops = (uint16_t)count};
    }
    for (int i = 0; ok && i < TG_RIP; i++)
        rules->registers[i] = rule_of(frame, i);
    if (ok)
        rules->registers[TG_RIP] = rule_of(frame, return_column);
    free(frame);
    return ok;
}

const struct tg_unwind_rules *tg_unwind_table_find(struct tg_unwind_table *table, Dwarf_CFI *cfi,
                                                   uint64_t address)
{
    struct entry *entry = NULL;
    HASH_FIND(hh, table->entries, &address, sizeof address, entry);
    if (entry != NULL)
        return entry->found ? &entry->rules : NULL;
    if (HASH_COUNT(table->entries) >= MAX_ENTRIES)
        clear(table);
    entry = calloc(1, sizeof *entry);
    bool keep = entry != NULL;
    if (!keep)
        entry = &table->last;
    entry->address = address;
    entry->found = read_rules(cfi, address, &entry->rules);
    if (keep && TG_HASH_ADD(hh, table->entries, address, entry) != NULL) {
        table->last = *entry;
        free(entry);
        entry = &table->last;
    }
    return entry->found ? &entry->rules : NULL;
}
