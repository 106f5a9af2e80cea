#include "recorder/stacks/argument_flow.h"

#include "format/base/array.h"
#include "format/base/hash.h"
#include "recorder/stacks/general_register.h"
#include "recorder/stacks/insn_reader.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 32, MAX_BLOCKS = 4096, MAX_STEPS = 60000 };

/* ---- what is where */

enum what { NOTHING, ARGUMENT, STACK };

struct value {
    enum what what;
    uint8_t bytes;   /* of an argument, 8 or 4: the upper half is lost */
    int8_t argument; /* number of the argument */
    int64_t offset;  /* of an address in the stack: less the stack pointer at the entry */
    int64_t behind;  /* end of the highest place in the frame that an argument came through */
};

struct slot {
    int64_t offset;
    struct value value;       /* an argument */
    bool is_pushed, is_fresh; /* written since the last jump or call: may be for the next function */
    bool is_doubtful;         /* perhaps written: what is there now is only known where it is read again */
};

struct state {
    struct value registers[TG_GENERAL_REGISTERS]; /* enum tg_register */
    struct slot slots[MAX_SLOTS];
    size_t n_slots;
};

static bool is_same(const struct value *a, const struct value *b)
{
    return a->what == b->what && (a->what == ARGUMENT ? a->argument == b->argument : a->offset == b->offset);
}

/* What holds in both; returns whether A changed. */
static bool join_values(struct value *a, const struct value *b)
{
    const struct value before = *a;
    if (a->what == NOTHING)
        return false;
    if (!is_same(a, b)) {
        *a = (struct value){.what = NOTHING};
        return true;
    }
    a->bytes = a->bytes < b->bytes ? a->bytes : b->bytes;
    a->behind = a->behind > b->behind ? a->behind : b->behind;
    return a->bytes != before.bytes || a->behind != before.behind;
}

static struct slot *find_slot(struct state *state, int64_t offset)
{
    for (size_t i = 0; i < state->n_slots; i++)
        if (state->slots[i].offset == offset)
            return &state->slots[i];
    return NULL;
}

static void drop_slot(struct state *state, struct slot *slot)
{
    *slot = state->slots[--state->n_slots];
}

static bool join(struct state *a, struct state *b)
{
    bool has_changed = false;
    for (size_t i = 0; i < TG_GENERAL_REGISTERS; i++)
        has_changed |= join_values(&a->registers[i], &b->registers[i]);
    for (size_t i = 0; i < a->n_slots;) {
        struct slot *mine = &a->slots[i], *other = find_slot(b, mine->offset);
        if (other == NULL || !is_same(&mine->value, &other->value)) {
            drop_slot(a, mine);
            has_changed = true;
            continue;
        }
        has_changed |= join_values(&mine->value, &other->value) || (other->is_pushed && !mine->is_pushed) ||
                       (other->is_doubtful && !mine->is_doubtful);
        mine->is_pushed |= other->is_pushed;
        mine->is_doubtful |= other->is_doubtful;
        i++;
    }
    return has_changed;
}

/* Whatever was in the SIZE bytes at OFFSET is there no longer. */
static void overwrite(struct state *state, int64_t offset, int64_t size)
{
    for (size_t i = 0; i < state->n_slots;) {
        const struct slot *slot = &state->slots[i];
        if (slot->offset < offset + size && offset < slot->offset + slot->value.bytes)
            drop_slot(state, &state->slots[i]);
        else
            i++;
    }
}

static void store(struct state *state, int64_t offset, struct value value, uint8_t size, bool is_pushed)
{
    /* of an argument in a register nobody asks who knows the places above the return address */
    bool is_others = offset > 0 && value.argument < TG_CALL_ARGUMENT_COUNT;
    overwrite(state, offset, size);
    if (value.what != ARGUMENT || is_others || size < 4 || size > 8 || state->n_slots == MAX_SLOTS)
        return;
    value.bytes = value.bytes < size ? value.bytes : size;
    state->slots[state->n_slots++] =
        (struct slot){.offset = offset, .value = value, .is_pushed = is_pushed, .is_fresh = true};
}

static struct value load(struct state *state, int64_t offset, uint8_t size)
{
    const struct slot *slot = find_slot(state, offset);
    if (slot == NULL || size < 4 || slot->value.bytes < size)
        return (struct value){.what = NOTHING};
    struct value value = slot->value;
    value.bytes = size;
    if (offset <= 0 && value.behind < offset + size)
        value.behind = offset + size;
    return value;
}

/* ---- instructions */

struct block {
    uint64_t start;
    struct state in;
    bool is_waiting;
};

struct walk {
    csh capstone;
    cs_insn *insn;
    struct tg_modules *modules;
    const struct tg_inspect_memory *memory;
    uint64_t pc;
    struct block *blocks;
    size_t n_blocks, capacity, n_steps;
    uint16_t places[2 * MAX_BLOCKS]; /* of blocks, by their starts: index + 1 */
    int64_t escaped;                 /* the lowest address in the frame that something else may know */
    bool are_known_above;            /* something else may know where arguments on the stack are */
    bool is_clear;                   /* all ways were followed */
    bool is_reached;
    struct state there; /* in the call */
    uint64_t target;
    uint64_t page_start; /* of code that was read */
    uint8_t page[4096];
    size_t page_size;
};

static void escape(struct walk *walk, const struct value *value)
{
    if (value->what == STACK && value->offset > 0)
        walk->are_known_above = true;
    else if (value->what == STACK && value->offset < walk->escaped)
        walk->escaped = value->offset;
}

/* Whether OPERAND is at a known place of the frame. */
static bool is_in_frame(const struct state *state, const cs_x86_op *operand, int64_t *offset)
{
    int base = operand->type == X86_OP_MEM ? tg_general_register(operand->mem.base) : -1;
    if (base < 0 || operand->mem.index != X86_REG_INVALID || operand->mem.segment != X86_REG_INVALID ||
        state->registers[base].what != STACK)
        return false;
    *offset = state->registers[base].offset + operand->mem.disp;
    return true;
}

static struct value value_of(struct state *state, const cs_x86_op *operand)
{
    int64_t offset;
    if (operand->type == X86_OP_REG) {
        int number = tg_general_register(operand->reg);
        struct value value = number >= 0 ? state->registers[number] : (struct value){.what = NOTHING};
        if (value.what == STACK && operand->size == 8)
            return value;
        if (value.what != ARGUMENT || operand->size < 4)
            return (struct value){.what = NOTHING};
        value.bytes = value.bytes < operand->size ? value.bytes : operand->size;
        return value;
    }
    return is_in_frame(state, operand, &offset) ? load(state, offset, operand->size)
                                                : (struct value){.what = NOTHING};
}

static void move_stack(struct state *state, int64_t by)
{
    struct value *pointer = &state->registers[TG_RSP];
    if (pointer->what == STACK)
        pointer->offset += by;
}

static void push(struct walk *walk, struct state *state, const cs_x86_op *operand)
{
    struct value value = value_of(state, operand);
    escape(walk, &value);
    move_stack(state, -8);
    if (operand->size == 2)
        state->registers[TG_RSP].what = NOTHING;
    if (state->registers[TG_RSP].what == STACK)
        store(state, state->registers[TG_RSP].offset, value, 8, true);
}

static struct value pop(struct state *state)
{
    const struct value *pointer = &state->registers[TG_RSP];
    struct value value =
        pointer->what == STACK ? load(state, pointer->offset, 8) : (struct value){.what = NOTHING};
    move_stack(state, 8);
    return value;
}

static void set(struct walk *walk, struct state *state, int number, struct value value)
{
    if (number != TG_RSP && number != TG_RBP)
        escape(walk, &value);
    state->registers[number] = value;
}

static void move(struct walk *walk, struct state *state, const cs_x86_op *to, const cs_x86_op *from)
{
    struct value value = value_of(state, from);
    int64_t offset;
    int number = to->type == X86_OP_REG ? tg_general_register(to->reg) : -1;
    if (number >= 0) {
        set(walk, state, number, to->size >= 4 ? value : (struct value){.what = NOTHING});
        return;
    }
    escape(walk, &value);
    if (is_in_frame(state, to, &offset))
        store(state, offset, value, to->size, false);
}

static void take_address(struct walk *walk, struct state *state, const cs_x86_op *to, const cs_x86_op *from)
{
    struct value value = {.what = NOTHING};
    int64_t offset;
    int base = tg_general_register(from->mem.base), index = tg_general_register(from->mem.index),
        number = tg_general_register(to->reg);
    if (is_in_frame(state, from, &offset) && to->size == 8)
        value = (struct value){.what = STACK, .offset = offset};
    else if ((base >= 0 && state->registers[base].what == STACK) ||
             (index >= 0 && state->registers[index].what == STACK))
        walk->escaped = INT64_MIN, walk->are_known_above = true;
    if (number >= 0)
        set(walk, state, number, value);
}

/* Of all other instructions: what they write is unknown. False: not understood. */
static bool forget_written(struct walk *walk, struct state *state)
{
    const cs_insn *insn = walk->insn;
    const cs_x86 *x86 = &insn->detail->x86;
    cs_regs read, written;
    uint8_t n_read, n_written;
    int64_t offset;
    bool compares = insn->id == X86_INS_CMP || insn->id == X86_INS_TEST;
    bool aligns =
        insn->id == X86_INS_AND && x86->operands[0].type == X86_OP_REG && x86->operands[0].reg == X86_REG_RSP;
    for (int i = 0; i < x86->op_count; i++) {
        const cs_x86_op *operand = &x86->operands[i];
        if (is_in_frame(state, operand, &offset) && (operand->access & CS_AC_READ) == 0)
            overwrite(state, offset, operand->size > 0 ? operand->size : 64);
        else if (is_in_frame(state, operand, &offset) && !compares)
            overwrite(state, offset, operand->access & CS_AC_WRITE ? operand->size : 0);
        int number =
            operand->type == X86_OP_REG && !compares && !aligns ? tg_general_register(operand->reg) : -1;
        if (number >= 0) {
            escape(walk, &state->registers[number]);
            if (state->registers[number].what == STACK)
                walk->are_known_above = true; /* an address that is made of it may be there */
        }
    }
    if (cs_regs_access(walk->capstone, insn, read, &n_read, written, &n_written) != 0)
        return false;
    for (int i = 0; i < n_written; i++)
        if (tg_general_register(written[i]) >= 0)
            state->registers[tg_general_register(written[i])] = (struct value){.what = NOTHING};
    if (insn->id == X86_INS_SYSCALL)
        state->registers[TG_RAX].what = state->registers[TG_RCX].what = state->registers[TG_R11].what =
            NOTHING;
    return true;
}

static bool step(struct walk *walk, struct state *state)
{
    const cs_insn *insn = walk->insn;
    const cs_x86_op *operands = insn->detail->x86.operands;
    int count = insn->detail->x86.op_count;
    bool of_pointer = count == 2 && operands[0].type == X86_OP_REG && operands[0].reg == X86_REG_RSP &&
                      operands[1].type == X86_OP_IMM;
    if (insn->id == X86_INS_PUSH && count == 1) {
        push(walk, state, &operands[0]);
    } else if (insn->id == X86_INS_POP && count == 1 && operands[0].type == X86_OP_REG &&
               operands[0].size == 8 && tg_general_register(operands[0].reg) >= 0) {
        set(walk, state, tg_general_register(operands[0].reg), pop(state));
    } else if (insn->id == X86_INS_LEAVE) {
        state->registers[TG_RSP] = state->registers[TG_RBP];
        state->registers[TG_RBP] = pop(state);
    } else if ((insn->id == X86_INS_SUB || insn->id == X86_INS_ADD) && of_pointer) {
        move_stack(state, insn->id == X86_INS_SUB ? -operands[1].imm : operands[1].imm);
    } else if (insn->id == X86_INS_MOV && count == 2) {
        move(walk, state, &operands[0], &operands[1]);
    } else if (insn->id == X86_INS_MOVSXD && count == 2 && operands[0].size == 8 && operands[1].size == 4) {
        move(walk, state, &operands[0], &operands[1]);
    } else if (insn->id == X86_INS_LEA && count == 2) {
        take_address(walk, state, &operands[0], &operands[1]);
    } else if (insn->id != X86_INS_NOP && insn->id != X86_INS_ENDBR64) {
        return forget_written(walk, state);
    }
    return true;
}

/* ---- calls */

/* What the function that is called may change: its own arguments on the stack, and the registers that it need not keep. */
static void forget_for_call(struct state *state)
{
    enum { ARGUMENT_BYTES = 64 };
    static const enum tg_register lost[] = {TG_RAX, TG_RCX, TG_RDX, TG_RSI, TG_RDI,
                                            TG_R8,  TG_R9,  TG_R10, TG_R11};
    const struct value *pointer = &state->registers[TG_RSP];
    for (size_t i = 0; i < state->n_slots;) {
        struct slot *slot = &state->slots[i];
        bool is_near = pointer->what != STACK || slot->offset < pointer->offset + ARGUMENT_BYTES;
        slot->is_doubtful |= slot->is_fresh && is_near;
        if (slot->is_pushed)
            drop_slot(state, slot);
        else
            i++;
    }
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        state->registers[lost[i]] = (struct value){.what = NOTHING};
}

static void settle(struct state *state)
{
    for (size_t i = 0; i < state->n_slots; i++)
        state->slots[i].is_fresh = false;
}

/* Behind a call that does not return something else begins, which nobody comes to from here: then the unwind information says
 * that the stack has another height. */
static bool goes_on(const struct walk *walk, const struct state *state, uint64_t address)
{
    uint64_t bias;
    struct tg_debug_info *info =
        walk->modules != NULL ? tg_modules_debug_info_at(walk->modules, address, &bias) : NULL;
    if (walk->modules == NULL)
        return true;
    const struct tg_unwind_rules *rules =
        info != NULL ? tg_debug_info_unwind_rules(info, address - bias) : NULL;
    if (rules == NULL)
        return false;
    if (rules->cfa_register >= TG_GENERAL_REGISTERS)
        return true;
    const struct value *value = &state->registers[rules->cfa_register];
    return value->what != STACK || value->offset + rules->cfa.offset == 8;
}

static void take_call(struct walk *walk, struct state *state)
{
    const cs_insn *insn = walk->insn;
    const cs_x86_op *operand = &insn->detail->x86.operands[0];
    if (insn->address + insn->size != walk->pc)
        return;
    if (walk->is_reached)
        join(&walk->there, state);
    else
        walk->there = *state;
    walk->is_reached = true;
    walk->target =
        insn->detail->x86.op_count == 1 && operand->type == X86_OP_IMM ? (uint64_t)operand->imm : 0;
}

/* ---- ways */

/* The place of the block that begins at START, or of one that would. */
static uint16_t *place_of(struct walk *walk, uint64_t start)
{
    const size_t count = sizeof walk->places / sizeof *walk->places;
    size_t i = tg_hash_bytes(&start, sizeof start) % count;
    while (walk->places[i] != 0 && walk->blocks[walk->places[i] - 1].start != start)
        i = (i + 1) % count;
    return &walk->places[i];
}

static void add_way(struct walk *walk, uint64_t start, struct state *state)
{
    uint16_t *place = place_of(walk, start);
    if (*place != 0) {
        struct block *block = &walk->blocks[*place - 1];
        block->is_waiting |= join(&block->in, state);
        return;
    }
    const struct block block = {.start = start, .in = *state, .is_waiting = true};
    if (walk->n_blocks == MAX_BLOCKS ||
        TG_ARRAY_APPEND(walk->blocks, walk->n_blocks, walk->capacity, block) != NULL)
        walk->is_clear = false;
    else
        *place = (uint16_t)walk->n_blocks;
}

/* The bytes of code at ADDRESS, at most a page's rest and then some. */
static const uint8_t *read_code(struct walk *walk, uint64_t address, size_t *size)
{
    enum { LONGEST = 16 };
    if (address < walk->page_start || address - walk->page_start + LONGEST > walk->page_size) {
        walk->page_start = address & ~(uint64_t)63;
        walk->page_size = sizeof walk->page;
        while (walk->page_size > LONGEST &&
               !walk->memory->read(walk->memory->context, walk->page_start, walk->page, walk->page_size))
            walk->page_size /= 2;
    }
    if (address - walk->page_start >= walk->page_size)
        return NULL;
    *size = walk->page_size - (address - walk->page_start);
    return walk->page + (address - walk->page_start);
}

static bool decode(struct walk *walk, uint64_t address)
{
    size_t size;
    const uint8_t *code = read_code(walk, address, &size);
    return code != NULL && ++walk->n_steps < MAX_STEPS &&
           cs_disasm_iter(walk->capstone, &code, &size, &address, walk->insn);
}

/* A jump that leaves the function by way of a pointer that the dynamic loader wrote: a stub of procedure linkage. */
static bool leaves(const cs_x86_op *operand)
{
    return operand->type == X86_OP_MEM && operand->mem.base == X86_REG_RIP &&
           operand->mem.index == X86_REG_INVALID;
}

static void take_jump(struct walk *walk, struct state *state)
{
    const cs_x86_op *operand = &walk->insn->detail->x86.operands[0];
    settle(state);
    if (walk->insn->detail->x86.op_count == 1 && operand->type == X86_OP_IMM)
        add_way(walk, (uint64_t)operand->imm, state);
    else
        walk->is_clear &= leaves(operand);
}

static void follow(struct walk *walk, uint64_t address, struct state *state)
{
    while (walk->is_clear) {
        bool is_known = decode(walk, address);
        const cs_insn *insn = walk->insn;
        walk->is_clear &= is_known;
        if (!is_known || insn->id == X86_INS_HLT || insn->id == X86_INS_UD2 || insn->id == X86_INS_INT3 ||
            cs_insn_group(walk->capstone, insn, X86_GRP_RET))
            return;
        uint64_t next = address + insn->size;
        if (cs_insn_group(walk->capstone, insn, X86_GRP_JUMP)) {
            take_jump(walk, state);
            if (insn->id != X86_INS_JMP)
                add_way(walk, next, state);
            return;
        }
        if (cs_insn_group(walk->capstone, insn, X86_GRP_CALL)) {
            take_call(walk, state);
            forget_for_call(state);
            settle(state);
            if (!goes_on(walk, state, next))
                return;
        } else {
            walk->is_clear &= step(walk, state);
        }
        address = next;
        if (*place_of(walk, address) != 0) { /* ways meet */
            settle(state);
            add_way(walk, address, state);
            return;
        }
    }
}

static void follow_all(struct walk *walk)
{
    bool is_done = false;
    while (walk->is_clear && !is_done) {
        is_done = true;
        for (size_t i = 0; walk->is_clear && i < walk->n_blocks; i++) {
            if (!walk->blocks[i].is_waiting)
                continue;
            struct state state = walk->blocks[i].in;
            walk->blocks[i].is_waiting = is_done = false;
            follow(walk, walk->blocks[i].start, &state);
        }
    }
}

/* ---- what comes of it */

static bool is_safe(const struct walk *walk, const struct value *value, int argument)
{
    if (argument >= TG_CALL_ARGUMENT_COUNT && walk->are_known_above)
        return false;
    return value->what == ARGUMENT && value->argument == argument && value->behind <= walk->escaped;
}

static struct tg_argument_home home_of(const struct walk *walk, int argument)
{
    static const enum tg_register kept[] = {TG_RBX, TG_RBP, TG_R12, TG_R13, TG_R14, TG_R15};
    static const enum tg_register passed[] = {TG_RDI, TG_RSI, TG_RDX, TG_RCX, TG_R8, TG_R9};
    struct tg_argument_home home = {.kept = -1, .passed = -1};
    struct state in_call = walk->there;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const struct value *value = &in_call.registers[kept[i]];
        if (is_safe(walk, value, argument) && value->bytes > home.kept_bytes) {
            home.kept = (int8_t)kept[i];
            home.kept_bytes = value->bytes;
        }
    }
    for (int i = 0; i < TG_CALL_ARGUMENT_COUNT; i++) {
        const struct value *value = &in_call.registers[passed[i]];
        if (is_safe(walk, value, argument) && value->bytes > home.passed_bytes) {
            home.passed = (int8_t)i;
            home.passed_bytes = value->bytes;
        }
    }
    forget_for_call(&in_call);
    for (size_t i = 0; i < in_call.n_slots; i++) {
        const struct slot *slot = &in_call.slots[i];
        if (!slot->is_doubtful && is_safe(walk, &slot->value, argument) &&
            (slot->offset > 0 ? !walk->are_known_above : slot->offset + slot->value.bytes <= walk->escaped) &&
            slot->value.bytes > home.slot_bytes) {
            home.slot = slot->offset;
            home.slot_bytes = slot->value.bytes;
        }
    }
    return home;
}

static struct state state_at_entry(void)
{
    static const enum tg_register order[] = {TG_RDI, TG_RSI, TG_RDX, TG_RCX, TG_R8, TG_R9};
    struct state state = {.n_slots = 0};
    state.registers[TG_RSP] = (struct value){.what = STACK};
    for (int i = 0; i < TG_CALL_ARGUMENT_COUNT; i++)
        state.registers[order[i]] =
            (struct value){.what = ARGUMENT, .bytes = 8, .argument = (int8_t)i, .behind = INT64_MIN};
    for (int i = TG_CALL_ARGUMENT_COUNT; i < TG_CALL_ARGUMENT_ALL; i++) /* above the return address */
        state.slots[state.n_slots++] = (struct slot){
            .offset = 8 * (int64_t)(i - TG_CALL_ARGUMENT_COUNT + 1),
            .value = {.what = ARGUMENT, .bytes = 8, .argument = (int8_t)i, .behind = INT64_MIN}};
    return state;
}

bool tg_argument_flow_find(struct tg_modules *modules, const struct tg_inspect_memory *memory, uint64_t entry,
                           uint64_t pc, struct tg_argument_flow *flow)
{
    struct walk *walk = calloc(1, sizeof *walk);
    struct state state = state_at_entry();
    bool is_known = false;
    if (walk == NULL || !tg_insn_reader_begin(&walk->capstone, &walk->insn)) {
        free(walk);
        return false;
    }
    walk->modules = modules;
    walk->memory = memory;
    walk->pc = pc;
    walk->escaped = INT64_MAX;
    walk->is_clear = true;
    add_way(walk, entry, &state);
    follow_all(walk);
    is_known = walk->is_clear && walk->is_reached;
    for (int i = 0; is_known && i < TG_CALL_ARGUMENT_ALL; i++)
        flow->homes[i] = home_of(walk, i);
    flow->target = walk->target;
    tg_insn_reader_end(&walk->capstone, walk->insn);
    free(walk->blocks);
    free(walk);
    return is_known;
}
