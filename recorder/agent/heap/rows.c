#include "recorder/agent/heap/rows.h"

#include "recorder/agent/calls/unwind_row.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

_Alignas(64) struct tg_heap_row_slot tg_heap_row_slots[TG_HEAP_ROW_SLOTS];
uint32_t tg_heap_row_last = TG_HEAP_ROW_SLOTS - 1;

static uint64_t pack(unsigned cfa, unsigned rbp, int64_t cfa_offset, int64_t rbp_offset)
{
    if (cfa_offset != (int32_t)cfa_offset || rbp_offset < -(1 << 23) || rbp_offset >= 1 << 23)
        return TG_HEAP_CFA_UNKNOWN;
    return cfa | rbp << 3 | (uint64_t)(uint32_t)cfa_offset << 8 | (uint64_t)rbp_offset << 40;
}

static uint64_t pack_row(const struct tg_unwind_row *row)
{
    static const unsigned char rbp_rules[] = {
        [TG_UNWIND_ROW_SAME] = TG_HEAP_RBP_SAME,
        [TG_UNWIND_ROW_AT_CFA] = TG_HEAP_RBP_AT_CFA,
        [TG_UNWIND_ROW_AT_RBP] = TG_HEAP_RBP_AT_RBP,
        [TG_UNWIND_ROW_OTHER] = TG_HEAP_RBP_LOST,
    };
    unsigned cfa = TG_HEAP_CFA_UNKNOWN;
    if (row->is_outermost)
        return TG_HEAP_CFA_END;
    if (row->cfa_is_at_rbp)
        cfa = TG_HEAP_CFA_AT_RBP;
    else if (row->cfa_register == TG_UNWIND_RSP)
        cfa = TG_HEAP_CFA_RSP;
    else if (row->cfa_register == TG_UNWIND_RBP)
        cfa = TG_HEAP_CFA_RBP;
    else
        return TG_HEAP_CFA_UNKNOWN;
    return pack(cfa, rbp_rules[row->rbp_rule], row->cfa_offset, row->rbp_offset);
}

/* Whether ADDRESS is where the dynamic loader starts the program: nobody called that, and it has no row. */
static bool is_entry(const struct dl_find_object *object, uint64_t address)
{
    enum { ENTRY_BYTES = 128 };
    const Elf64_Ehdr *header = object->dlfo_map_start;
    const struct link_map *map = object->dlfo_link_map;
    return (uintptr_t)header == map->l_addr && header->e_ident[EI_MAG0] == ELFMAG0 &&
           header->e_ident[EI_MAG1] == ELFMAG1 && header->e_entry != 0 &&
           address - (map->l_addr + header->e_entry) < ENTRY_BYTES;
}

static uint64_t find(uint64_t address)
{
    struct dl_find_object object;
    struct tg_unwind_table table;
    struct tg_unwind_function function;
    struct tg_unwind_row row;
    if (_dl_find_object((void *)(uintptr_t)address, &object) != 0 || object.dlfo_eh_frame == NULL ||
        !tg_unwind_table_open(object.dlfo_eh_frame, &table))
        return TG_HEAP_CFA_UNKNOWN;
    size_t index = tg_unwind_table_find(&table, address);
    if (index == table.count || !tg_unwind_table_at(&table, index, &function) || address < function.start ||
        address >= function.end)
        return is_entry(&object, address) ? TG_HEAP_CFA_END : TG_HEAP_CFA_UNKNOWN;
    if (function.is_signal)
        return TG_HEAP_CFA_SIGNAL;
    return tg_unwind_row_at(&function, address, &row) ? pack_row(&row) : TG_HEAP_CFA_UNKNOWN;
}

static void put(struct tg_heap_row_slot *slot, uint64_t key, uint64_t row)
{
    __atomic_store_n(&slot->row, row, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->key, key, __ATOMIC_RELAXED);
}

/* In place of the older one of two. */
uint64_t tg_heap_row_make(uint64_t address, uint64_t unloads)
{
    uint64_t row = find(address);
    struct tg_heap_row_slot *slot = tg_heap_row_pair(address);
    put(slot + 1, __atomic_load_n(&slot->key, __ATOMIC_RELAXED),
        __atomic_load_n(&slot->row, __ATOMIC_RELAXED));
    put(slot, address ^ unloads << 48 ^ row, row);
    return row;
}
