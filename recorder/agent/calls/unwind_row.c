#include "recorder/agent/calls/unwind_row.h"

#include <string.h>

enum {
    ENCODING_PCREL_SDATA4 = 0x1b, /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
    ENCODING_UDATA4 = 0x03,
    ENCODING_DATAREL_SDATA4 = 0x3b,
    MAX_STATES = 8,
    MAX_ENTRY_BYTES = 1 << 16,
    REGISTERS = 17,
};

enum { /* DWARF's DW_CFA_*, the three that hold an operand in their low bits first */
       CFA_ADVANCE_LOC = 0x40,
       CFA_OFFSET = 0x80,
       CFA_RESTORE = 0xc0,
       CFA_NOP = 0x00,
       CFA_ADVANCE_LOC1 = 0x02,
       CFA_ADVANCE_LOC2 = 0x03,
       CFA_ADVANCE_LOC4 = 0x04,
       CFA_REMEMBER_STATE = 0x0a,
       CFA_RESTORE_STATE = 0x0b,
       CFA_DEF_CFA = 0x0c,
       CFA_DEF_CFA_REGISTER = 0x0d,
       CFA_DEF_CFA_OFFSET = 0x0e,
       CFA_GNU_ARGS_SIZE = 0x2e,
};

/* Bytes read one after the other; FAILED once one was asked for behind the end. */
struct cursor {
    const unsigned char *at, *end;
    bool failed;
};

static uint64_t take(struct cursor *cursor, size_t size)
{
    uint64_t value = 0;
    if (cursor->failed || (size_t)(cursor->end - cursor->at) < size) {
        cursor->failed = true;
        return 0;
    }
    memcpy(&value, cursor->at, size);
    cursor->at += size;
    return value;
}

static uint64_t take_unsigned(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint64_t byte = take(cursor, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    cursor->failed = true;
    return 0;
}

static int64_t take_signed(struct cursor *cursor)
{
    int64_t value = 0;
    for (unsigned shift = 0; shift < 56;) {
        uint64_t byte = take(cursor, 1);
        value |= (int64_t)((byte & 0x7f) << shift);
        shift += 7;
        if ((byte & 0x80) == 0)
            return (byte & 0x40) != 0 ? value - ((int64_t)1 << shift) : value;
    }
    cursor->failed = true;
    return 0;
}

static int32_t word_at(const unsigned char *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* ---- the table */

bool tg_unwind_table_open(const void *header, struct tg_unwind_table *table)
{
    const unsigned char *bytes = header;
    if (bytes == NULL || bytes[0] != 1 || bytes[1] != ENCODING_PCREL_SDATA4 || bytes[2] != ENCODING_UDATA4 ||
        bytes[3] != ENCODING_DATAREL_SDATA4)
        return false;
    *table = (struct tg_unwind_table){
        .header = bytes, .entries = bytes + 12, .count = (uint32_t)word_at(bytes + 8)};
    return true;
}

static uint64_t start_of(const struct tg_unwind_table *table, size_t index)
{
    return (uint64_t)(uintptr_t)table->header + (uint64_t)(int64_t)word_at(table->entries + index * 8);
}

size_t tg_unwind_table_find(const struct tg_unwind_table *table, uint64_t address)
{
    size_t low = 0, high = table->count; /* the first that begins behind ADDRESS lies in [low, high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (start_of(table, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : table->count;
}

/* The length of a CIE or FDE stands before it; the cursor is then on what it counts. */
static bool open_entry(const unsigned char *entry, struct cursor *cursor)
{
    uint32_t length = (uint32_t)word_at(entry);
    if (length < 8 || length > MAX_ENTRY_BYTES)
        return false;
    *cursor = (struct cursor){.at = entry + 4, .end = entry + 4 + length};
    return true;
}

/* "zR" alone: pointers are relative, and there is no personality routine, no signal frame. */
static bool read_common(const unsigned char *entry, struct tg_unwind_function *function)
{
    struct cursor cursor;
    if (!open_entry(entry, &cursor) || take(&cursor, 4) != 0 || take(&cursor, 1) != 1 ||
        take(&cursor, 1) != 'z' || take(&cursor, 1) != 'R' || take(&cursor, 1) != 0)
        return false;
    function->code_alignment = take_unsigned(&cursor);
    function->data_alignment = take_signed(&cursor);
    if (take(&cursor, 1) != TG_UNWIND_RIP || take_unsigned(&cursor) != 1 ||
        take(&cursor, 1) != ENCODING_PCREL_SDATA4)
        return false;
    function->initial = cursor.at;
    function->initial_end = cursor.end;
    return !cursor.failed;
}

bool tg_unwind_table_at(const struct tg_unwind_table *table, size_t index,
                        struct tg_unwind_function *function)
{
    const unsigned char *entry = table->header + word_at(table->entries + index * 8 + 4);
    struct cursor cursor;
    if (!open_entry(entry, &cursor))
        return false;
    const unsigned char *field = cursor.at;
    uint32_t back = (uint32_t)take(&cursor, 4);
    if (back == 0 || !read_common(field - back, function))
        return false;
    const unsigned char *begin = cursor.at;
    function->start = (uint64_t)(uintptr_t)begin + (uint64_t)(int64_t)(int32_t)take(&cursor, 4);
    function->end = function->start + take(&cursor, 4);
    uint64_t skip = take_unsigned(&cursor);
    if (cursor.failed || skip > (uint64_t)(cursor.end - cursor.at) || function->end <= function->start ||
        function->start != start_of(table, index))
        return false;
    function->program = cursor.at + skip;
    function->program_end = cursor.end;
    return true;
}

/* ---- rows */

struct rules {
    uint64_t cfa_register;
    int64_t cfa_offset;
    int64_t saved[REGISTERS]; /* offset from the CFA, 0: where it always is */
};

struct machine {
    struct rules now;
    struct rules initial;
    struct rules states[MAX_STATES];
    size_t n_states;
    uint64_t address; /* for which NOW holds, and on */
};

static bool set_saved(struct machine *machine, uint64_t number, int64_t offset)
{
    if (number >= REGISTERS)
        return false;
    machine->now.saved[number] = offset;
    return true;
}

static bool swap_state(struct machine *machine, unsigned operation)
{
    if (operation == CFA_REMEMBER_STATE) {
        if (machine->n_states == MAX_STATES)
            return false;
        machine->states[machine->n_states++] = machine->now;
        return true;
    }
    if (machine->n_states == 0)
        return false;
    machine->now = machine->states[--machine->n_states];
    return true;
}

/* The instructions that say where the CFA is, and those without effect here. */
static bool define(struct machine *machine, struct cursor *cursor, unsigned operation)
{
    switch (operation) {
    case CFA_NOP:
        return true;
    case CFA_DEF_CFA:
        machine->now.cfa_register = take_unsigned(cursor);
        machine->now.cfa_offset = (int64_t)take_unsigned(cursor);
        return true;
    case CFA_DEF_CFA_REGISTER:
        machine->now.cfa_register = take_unsigned(cursor);
        return true;
    case CFA_DEF_CFA_OFFSET:
        machine->now.cfa_offset = (int64_t)take_unsigned(cursor);
        return true;
    case CFA_GNU_ARGS_SIZE:
        (void)take_unsigned(cursor);
        return true;
    case CFA_REMEMBER_STATE:
    case CFA_RESTORE_STATE:
        return swap_state(machine, operation);
    default:
        return false;
    }
}

/* Runs instructions until the row behind them begins after ADDRESS. */
static bool run(struct machine *machine, const struct tg_unwind_function *function, struct cursor cursor,
                uint64_t address)
{
    while (cursor.at < cursor.end && !cursor.failed) {
        unsigned operation = (unsigned)take(&cursor, 1), low = operation & 0x3f;
        uint64_t advance = UINT64_MAX;
        bool known = true;
        if ((operation & 0xc0) == CFA_ADVANCE_LOC)
            advance = low;
        else if (operation >= CFA_ADVANCE_LOC1 && operation <= CFA_ADVANCE_LOC4)
            advance = take(&cursor, (size_t)1 << (operation - CFA_ADVANCE_LOC1));
        else if ((operation & 0xc0) == CFA_OFFSET)
            known = set_saved(machine, low, (int64_t)take_unsigned(&cursor) * function->data_alignment);
        else if ((operation & 0xc0) == CFA_RESTORE)
            known = low < REGISTERS && set_saved(machine, low, machine->initial.saved[low]);
        else
            known = define(machine, &cursor, operation);
        if (!known)
            return false;
        if (advance == UINT64_MAX)
            continue;
        machine->address += advance * function->code_alignment;
        if (machine->address > address)
            return true;
    }
    return !cursor.failed;
}

bool tg_unwind_row_at(const struct tg_unwind_function *function, uint64_t address, struct tg_unwind_row *row)
{
    struct machine machine = {.address = function->start};
    struct cursor initial = {.at = function->initial, .end = function->initial_end};
    struct cursor program = {.at = function->program, .end = function->program_end};
    if (!run(&machine, function, initial, UINT64_MAX))
        return false;
    machine.initial = machine.now;
    if (!run(&machine, function, program, address) || machine.now.saved[TG_UNWIND_RIP] != -8)
        return false;
    *row = (struct tg_unwind_row){.cfa_register = (unsigned)machine.now.cfa_register,
                                  .cfa_offset = machine.now.cfa_offset,
                                  .rbp_offset = machine.now.saved[TG_UNWIND_RBP]};
    for (unsigned i = 0; i < TG_UNWIND_RIP; i++)
        row->n_saved += machine.now.saved[i] != 0;
    return true;
}
