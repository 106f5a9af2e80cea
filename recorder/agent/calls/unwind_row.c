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
       CFA_OFFSET_EXTENDED = 0x05,
       CFA_RESTORE_EXTENDED = 0x06,
       CFA_UNDEFINED = 0x07,
       CFA_SAME_VALUE = 0x08,
       CFA_REGISTER = 0x09,
       CFA_REMEMBER_STATE = 0x0a,
       CFA_RESTORE_STATE = 0x0b,
       CFA_DEF_CFA = 0x0c,
       CFA_DEF_CFA_REGISTER = 0x0d,
       CFA_DEF_CFA_OFFSET = 0x0e,
       CFA_DEF_CFA_EXPRESSION = 0x0f,
       CFA_EXPRESSION = 0x10,
       CFA_OFFSET_EXTENDED_SF = 0x11,
       CFA_DEF_CFA_SF = 0x12,
       CFA_DEF_CFA_OFFSET_SF = 0x13,
       CFA_VAL_OFFSET = 0x14,
       CFA_VAL_OFFSET_SF = 0x15,
       CFA_VAL_EXPRESSION = 0x16,
       CFA_GNU_ARGS_SIZE = 0x2e,
};

enum { /* DWARF's DW_OP_* */
       OP_DEREF = 0x06,
       OP_BREG_RBP = 0x76,
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

/* The length of a CIE or FDE is before it; the cursor is then on what it counts. */
static bool open_entry(const unsigned char *entry, struct cursor *cursor)
{
    uint32_t length = (uint32_t)word_at(entry);
    if (length < 8 || length > MAX_ENTRY_BYTES)
        return false;
    *cursor = (struct cursor){.at = entry + 4, .end = entry + 4 + length};
    return true;
}

/* Bytes that a pointer in ENCODING (DW_EH_PE_*) takes; 0: not known. */
static size_t pointer_bytes(unsigned encoding)
{
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return 8;
    case 0x03:
    case 0x0b:
        return 4;
    default:
        return 0;
    }
}

/* What the letters behind 'z' stand for. */
static bool read_augmentation(struct cursor *cursor, const unsigned char *letters,
                              struct tg_unwind_function *function)
{
    bool has_encoding = false;
    for (; *letters != '\0' && !cursor->failed; letters++) {
        unsigned encoding;
        switch (*letters) {
        case 'R':
            has_encoding = take(cursor, 1) == ENCODING_PCREL_SDATA4;
            break;
        case 'P':
            function->has_personality = true;
            encoding = (unsigned)take(cursor, 1);
            if (pointer_bytes(encoding) == 0)
                return false;
            (void)take(cursor, pointer_bytes(encoding));
            break;
        case 'L':
            (void)take(cursor, 1);
            break;
        case 'S':
            function->is_signal = true;
            break;
        default:
            return false;
        }
    }
    return has_encoding;
}

/* Pointers of the function are relative. */
static bool read_common(const unsigned char *entry, struct tg_unwind_function *function)
{
    struct cursor cursor;
    function->has_personality = function->is_signal = false;
    if (!open_entry(entry, &cursor) || take(&cursor, 4) != 0 || take(&cursor, 1) != 1 ||
        take(&cursor, 1) != 'z')
        return false;
    const unsigned char *letters = cursor.at;
    while (!cursor.failed && take(&cursor, 1) != '\0')
        continue;
    function->code_alignment = take_unsigned(&cursor);
    function->data_alignment = take_signed(&cursor);
    if (take(&cursor, 1) != TG_UNWIND_RIP)
        return false;
    uint64_t size = take_unsigned(&cursor);
    const unsigned char *behind = cursor.at + size;
    if (cursor.failed || size > (uint64_t)(cursor.end - cursor.at) ||
        !read_augmentation(&cursor, letters, function) || cursor.failed || cursor.at > behind)
        return false;
    function->initial = behind;
    function->initial_end = cursor.end;
    return true;
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
    bool cfa_is_at_rbp, cfa_is_other;
    bool is_outermost;
    unsigned char kinds[REGISTERS]; /* enum tg_unwind_row_rule */
    int64_t offsets[REGISTERS];     /* of AT_CFA and AT_RBP */
};

struct machine {
    struct rules now;
    struct rules initial;
    struct rules states[MAX_STATES];
    size_t n_states;
    uint64_t address; /* for which NOW holds, and on */
};

/* Registers beyond those that are followed (vectors and the like) do not matter. */
static void set_rule(struct machine *machine, uint64_t number, enum tg_unwind_row_rule kind, int64_t offset)
{
    if (number >= REGISTERS)
        return;
    machine->now.kinds[number] = (unsigned char)kind;
    machine->now.offsets[number] = offset;
}

static void restore_rule(struct machine *machine, uint64_t number)
{
    if (number < REGISTERS)
        set_rule(machine, number, (enum tg_unwind_row_rule)machine->initial.kinds[number],
                 machine->initial.offsets[number]);
}

/* An expression: rbp + *OFFSET, DEREFERENCES times loaded from; false where it is another one. */
static bool take_expression(struct cursor *cursor, unsigned dereferences, int64_t *offset)
{
    uint64_t size = take_unsigned(cursor);
    if (cursor->failed || size > (uint64_t)(cursor->end - cursor->at)) {
        cursor->failed = true;
        return false;
    }
    struct cursor inner = {.at = cursor->at, .end = cursor->at + size};
    cursor->at += size;
    if (take(&inner, 1) != OP_BREG_RBP)
        return false;
    *offset = take_signed(&inner);
    while (dereferences > 0 && take(&inner, 1) == OP_DEREF)
        dereferences--;
    return dereferences == 0 && !inner.failed && inner.at == inner.end;
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

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
    machine->now.cfa_register = number;
    machine->now.cfa_offset = offset;
    machine->now.cfa_is_at_rbp = machine->now.cfa_is_other = false;
}

/* Tables may be damaged: what is too large wraps. */
static int64_t scaled(const struct tg_unwind_function *function, uint64_t offset)
{
    return (int64_t)(offset * (uint64_t)function->data_alignment);
}

/* The instructions that say where the CFA is, and those without effect here. */
static bool define(struct machine *machine, struct cursor *cursor, unsigned operation,
                   const struct tg_unwind_function *function)
{
    uint64_t number;
    switch (operation) {
    case CFA_NOP:
        return true;
    case CFA_DEF_CFA:
        number = take_unsigned(cursor);
        set_cfa(machine, number, (int64_t)take_unsigned(cursor));
        return true;
    case CFA_DEF_CFA_SF:
        number = take_unsigned(cursor);
        set_cfa(machine, number, scaled(function, (uint64_t)take_signed(cursor)));
        return true;
    case CFA_DEF_CFA_REGISTER:
        set_cfa(machine, take_unsigned(cursor), machine->now.cfa_offset);
        return true;
    case CFA_DEF_CFA_OFFSET:
        machine->now.cfa_offset = (int64_t)take_unsigned(cursor);
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        machine->now.cfa_offset = scaled(function, (uint64_t)take_signed(cursor));
        return true;
    case CFA_DEF_CFA_EXPRESSION:
        machine->now.cfa_is_at_rbp = take_expression(cursor, 1, &machine->now.cfa_offset);
        machine->now.cfa_is_other = !machine->now.cfa_is_at_rbp;
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

/* The instructions that say where a register is; false: OPERATION is none of them. */
static bool define_register(struct machine *machine, struct cursor *cursor, unsigned operation,
                            const struct tg_unwind_function *function)
{
    int64_t offset = 0;
    if (operation < CFA_OFFSET_EXTENDED || operation > CFA_VAL_EXPRESSION ||
        (operation > CFA_REGISTER && operation < CFA_EXPRESSION) || operation == CFA_DEF_CFA_SF ||
        operation == CFA_DEF_CFA_OFFSET_SF)
        return false;
    uint64_t number = take_unsigned(cursor);
    switch (operation) {
    case CFA_OFFSET_EXTENDED:
        set_rule(machine, number, TG_UNWIND_ROW_AT_CFA, scaled(function, take_unsigned(cursor)));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        set_rule(machine, number, TG_UNWIND_ROW_AT_CFA, scaled(function, (uint64_t)take_signed(cursor)));
        break;
    case CFA_RESTORE_EXTENDED:
        restore_rule(machine, number);
        break;
    case CFA_UNDEFINED:
        set_rule(machine, number, TG_UNWIND_ROW_OTHER, 0);
        machine->now.is_outermost |= number == TG_UNWIND_RIP;
        break;
    case CFA_SAME_VALUE:
        set_rule(machine, number, TG_UNWIND_ROW_SAME, 0);
        break;
    case CFA_EXPRESSION: {
        bool at_rbp = take_expression(cursor, 0, &offset);
        set_rule(machine, number, at_rbp ? TG_UNWIND_ROW_AT_RBP : TG_UNWIND_ROW_OTHER, offset);
        break;
    }
    case CFA_VAL_EXPRESSION:
        (void)take_expression(cursor, 0, &offset);
        set_rule(machine, number, TG_UNWIND_ROW_OTHER, 0);
        break;
    default: /* in another register, or a value relative to the CFA */
        (void)take_unsigned(cursor);
        set_rule(machine, number, TG_UNWIND_ROW_OTHER, 0);
    }
    return true;
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
            set_rule(machine, low, TG_UNWIND_ROW_AT_CFA, scaled(function, take_unsigned(&cursor)));
        else if ((operation & 0xc0) == CFA_RESTORE)
            restore_rule(machine, low);
        else
            known = define_register(machine, &cursor, operation, function) ||
                    define(machine, &cursor, operation, function);
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
    if (!run(&machine, function, program, address) || machine.now.cfa_is_other)
        return false;
    const struct rules *now = &machine.now;
    if (!now->is_outermost &&
        (now->kinds[TG_UNWIND_RIP] != TG_UNWIND_ROW_AT_CFA || now->offsets[TG_UNWIND_RIP] != -8))
        return false;
    *row = (struct tg_unwind_row){.cfa_register = (unsigned)now->cfa_register,
                                  .cfa_offset = now->cfa_offset,
                                  .cfa_is_at_rbp = now->cfa_is_at_rbp,
                                  .is_outermost = now->is_outermost,
                                  .rbp_rule = (enum tg_unwind_row_rule)now->kinds[TG_UNWIND_RBP],
                                  .rbp_offset = now->offsets[TG_UNWIND_RBP]};
    for (unsigned i = 0; i < TG_UNWIND_RIP; i++)
        row->n_saved += now->kinds[i] != TG_UNWIND_ROW_SAME;
    return true;
}
