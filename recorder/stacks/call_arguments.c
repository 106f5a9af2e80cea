#include "recorder/stacks/call_arguments.h"

#include "recorder/stacks/insn_reader.h"
#include "recorder/unwind/unwind_expression.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCOPES = 32, MAX_LINE_BYTES = 512, MAX_ROWS = 32, MAX_TARGETS = 16 };

/* ---- by the parameters of the call site */

static bool is_site_of(Dwarf_Die *die, uint64_t pc)
{
    int tag = dwarf_tag(die);
    Dwarf_Attribute attribute;
    Dwarf_Addr address;
    unsigned name = tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc;
    return (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) &&
           dwarf_attr(die, name, &attribute) != NULL && dwarf_formaddr(&attribute, &address) == 0 &&
           address == pc;
}

static bool find_site(Dwarf_Die *scopes, size_t count, uint64_t pc, Dwarf_Die *site)
{
    for (size_t i = 0; i < count; i++) {
        Dwarf_Die child;
        for (int more = dwarf_child(&scopes[i], &child); more == 0; more = dwarf_siblingof(&child, &child))
            if (is_site_of(&child, pc)) {
                *site = child;
                return true;
            }
    }
    return false;
}

/* The argument whose register OPS name, -1 none. */
static int argument_of(const Dwarf_Op *ops, size_t count)
{
    static const enum tg_register order[] = {TG_RDI, TG_RSI, TG_RDX, TG_RCX, TG_R8, TG_R9};
    if (count != 1)
        return -1;
    uint64_t number = ops[0].atom == DW_OP_regx ? ops[0].number : (uint64_t)ops[0].atom - DW_OP_reg0;
    for (int i = 0; i < TG_CALL_ARGUMENT_COUNT; i++)
        if (number == (uint64_t)order[i])
            return i;
    return -1;
}

/* Addresses in expressions are without the load bias: where there is one among other operations, nobody knows which part
 * of the result is one. */
static bool evaluate(const Dwarf_Op *ops, size_t count, const struct tg_frame *caller, uint64_t bias,
                     const struct tg_inspect_memory *memory, uint64_t *value)
{
    bool is_value;
    if (count == 1 && ops[0].atom == DW_OP_addr) {
        *value = ops[0].number + bias;
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (ops[i].atom == DW_OP_addr || ops[i].atom == DW_OP_call_frame_cfa)
            return false;
    return count > 0 && tg_unwind_expression_run(ops, count, &caller->registers, memory, 0, value, &is_value);
}

static void take_parameter(Dwarf_Die *parameter, const struct tg_frame *caller, uint64_t bias,
                           const struct tg_inspect_memory *memory, struct tg_call_arguments *arguments)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    uint64_t value;
    if (dwarf_attr(parameter, DW_AT_location, &attribute) == NULL ||
        dwarf_getlocation(&attribute, &ops, &count) != 0)
        return;
    int argument = argument_of(ops, count);
    if (argument < 0 || (dwarf_attr(parameter, DW_AT_call_value, &attribute) == NULL &&
                         dwarf_attr(parameter, DW_AT_GNU_call_site_value, &attribute) == NULL))
        return;
    if (dwarf_getlocation(&attribute, &ops, &count) == 0 &&
        evaluate(ops, count, caller, bias, memory, &value)) {
        arguments->value[argument] = value;
        arguments->known |= (uint16_t)(1u << argument);
    }
}

/* ---- by the instructions of the line */

/* Compilers without optimisation keep variables in the frame, and set up a call where its line begins. GCC says so among
 * its options; clang tells call sites of functions that it optimises alone. */
static bool is_unoptimised(Dwarf_Die *function, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *producer =
        dwarf_attr(unit, DW_AT_producer, &attribute) != NULL ? dwarf_formstring(&attribute) : NULL;
    if (producer == NULL)
        return false;
    if (strncmp(producer, "GNU ", 4) == 0) {
        const char *last = NULL;
        for (const char *option = producer; (option = strstr(option, " -O")) != NULL; option += 3)
            last = option;
        return last == NULL || last[3] == '0';
    }
    return strstr(producer, "clang") != NULL && dwarf_hasattr(function, DW_AT_call_all_calls) == 0 &&
           dwarf_hasattr(function, DW_AT_GNU_all_call_sites) == 0;
}

/* Where the code of the line begins that ADDRESS is in, as far as it is in one piece. */
static uint64_t line_start(struct tg_debug_units *units, uint64_t address)
{
    struct tg_debug_row row, before;
    if (!tg_debug_units_row_at(units, address, &row))
        return address;
    uint64_t start = row.start;
    for (int i = 0;
         i < MAX_ROWS && tg_debug_units_row_at(units, start - 1, &before) && before.line == row.line &&
         before.file == row.file && before.end == start && address - before.start < MAX_LINE_BYTES;
         i++)
        start = before.start;
    return start;
}

/* What registers hold in the middle of the line. */
struct running {
    csh capstone;
    const struct tg_inspect_memory *memory;
    uint64_t frame_pointer;
    uint64_t value[TG_CALL_REGISTER_COUNT];
    uint64_t slot[TG_CALL_REGISTER_COUNT]; /* the variable that it came from, 0 none */
    uint32_t known;
    uint64_t targets[MAX_TARGETS]; /* of jumps of the line */
    size_t n_targets;
};

/* The address of a variable in the frame or in the object; false for others. */
static bool address_of(const struct running *running, const cs_insn *insn, const cs_x86_op *operand,
                       uint64_t *address)
{
    if (operand->mem.index != X86_REG_INVALID || operand->mem.segment != X86_REG_INVALID)
        return false;
    uint64_t base = operand->mem.base == X86_REG_RBP   ? running->frame_pointer
                    : operand->mem.base == X86_REG_RIP ? insn->address + insn->size
                                                       : 0;
    *address = base + (uint64_t)operand->mem.disp;
    return base != 0;
}

/* The value of SOURCE, of WIDTH bytes; SLOT: where it was read, 0 nowhere. */
static bool read_source(const struct running *running, const cs_insn *insn, const cs_x86_op *source,
                        uint64_t *value, uint64_t *slot)
{
    *slot = 0;
    *value = 0;
    if (source->type == X86_OP_IMM) {
        *value = (uint64_t)source->imm;
        return true;
    }
    if (source->type == X86_OP_REG) {
        int from = tg_call_register_place(source->reg);
        if (from < 0 || (running->known >> from & 1) == 0)
            return false;
        *value = running->value[from];
        *slot = running->slot[from];
        return true;
    }
    if (source->type != X86_OP_MEM || !address_of(running, insn, source, slot) ||
        source->size > sizeof *value)
        return false;
    return running->memory->read(running->memory->context, *slot, value, source->size);
}

static void set(struct running *running, int to, bool is_known, uint64_t value, uint64_t slot)
{
    running->known &= ~(1u << to);
    running->known |= (uint32_t)is_known << to;
    running->value[to] = value;
    running->slot[to] = slot;
}

/* False: where the jump INSN leads is not known, or there are too many of them. */
static bool note_target(struct running *running, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    if (x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM || running->n_targets == MAX_TARGETS)
        return false;
    running->targets[running->n_targets++] = (uint64_t)x86->operands[0].imm;
    return true;
}

/* Whether a jump of the line leads to ADDRESS: what holds there is not only what is before. */
static bool is_target(const struct running *running, uint64_t address)
{
    for (size_t i = 0; i < running->n_targets; i++)
        if (running->targets[i] == address)
            return true;
    return false;
}

/* What was read of a variable that INSN writes to is not what it has by now (`next++`). */
static void forget_written(struct running *running, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    uint64_t address;
    for (uint8_t i = 0; i < x86->op_count; i++) {
        if (x86->operands[i].type != X86_OP_MEM || (x86->operands[i].access & CS_AC_WRITE) == 0 ||
            !address_of(running, insn, &x86->operands[i], &address))
            continue;
        for (int k = 0; k < TG_CALL_REGISTER_COUNT; k++)
            if ((running->known >> k & 1) != 0 && running->slot[k] == address)
                set(running, k, false, 0, 0);
    }
}

/* False where the line goes nobody knows where: what holds behind that is unknown. */
static bool step(struct running *running, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    uint64_t value = 0, slot = 0;
    if (cs_insn_group(running->capstone, insn, X86_GRP_RET))
        return false;
    if (cs_insn_group(running->capstone, insn, X86_GRP_JUMP)) { /* several ways lead on from here */
        running->known = 0;
        return note_target(running, insn);
    }
    if (cs_insn_group(running->capstone, insn,
                      X86_GRP_CALL)) { /* of an argument: nothing of before is left */
        running->known = 0;
        return true;
    }
    forget_written(running, insn);
    int to = x86->op_count > 0 && x86->operands[0].type == X86_OP_REG
                 ? tg_call_register_place(x86->operands[0].reg)
                 : -1;
    bool is_wide = to >= 0 && x86->operands[0].size >= 4, is_known = false;
    if (is_wide && x86->op_count == 2 && (insn->id == X86_INS_MOV || insn->id == X86_INS_MOVABS))
        is_known = read_source(running, insn, &x86->operands[1], &value, &slot);
    else if (is_wide && x86->op_count == 2 && insn->id == X86_INS_LEA)
        is_known = address_of(running, insn, &x86->operands[1], &value);
    if (is_known && x86->operands[0].size == 4)
        value = (uint32_t)value;
    cs_regs read, written;
    uint8_t n_read, n_written;
    if (cs_regs_access(running->capstone, insn, read, &n_read, written, &n_written) != 0)
        return false;
    for (int i = 0; i < n_written; i++) {
        int changed = tg_call_register_place(written[i]);
        if (changed >= 0)
            set(running, changed, false, 0, 0);
        if (written[i] == X86_REG_RBP || written[i] == X86_REG_EBP)
            return false;
    }
    if (is_known)
        set(running, to, true, value, slot);
    return true;
}

/* A variable whose address the function has may have changed since. */
static bool is_passed(const struct running *running, uint64_t slot)
{
    for (int i = 0; slot != 0 && i < TG_CALL_ARGUMENT_COUNT; i++)
        if ((running->known >> i & 1) != 0 && running->value[i] <= slot && slot - running->value[i] < 64)
            return true;
    return false;
}

static void take_running(const struct running *running, struct tg_call_arguments *arguments)
{
    for (int i = 0; i < TG_CALL_ARGUMENT_COUNT; i++)
        if ((running->known >> i & 1) != 0 && !is_passed(running, running->slot[i])) {
            arguments->value[i] = running->value[i];
            arguments->known |= (uint16_t)(1u << i);
        }
}

/* Runs the code from START to the call that returns to END. */
static void run_line(const struct tg_inspect_memory *memory, const struct tg_frame *caller, uint64_t start,
                     uint64_t end, struct tg_call_arguments *arguments)
{
    uint8_t bytes[MAX_LINE_BYTES];
    cs_insn *insn;
    struct running running = {.memory = memory, .frame_pointer = caller->registers.value[TG_RBP]};
    if (end <= start || end - start > sizeof bytes || !tg_registers_has(&caller->registers, TG_RBP) ||
        !memory->read(memory->context, start, bytes, end - start) ||
        !tg_insn_reader_begin(&running.capstone, &insn))
        return;
    const uint8_t *code = bytes;
    size_t left = end - start;
    uint64_t address = start;
    bool goes_on = true, is_there = false;
    while (goes_on && left > 0 && cs_disasm_iter(running.capstone, &code, &left, &address, insn)) {
        is_there = left == 0 && cs_insn_group(running.capstone, insn, X86_GRP_CALL);
        if (is_target(&running, insn->address))
            running.known = 0;
        goes_on = is_there || step(&running, insn);
    }
    if (is_there && goes_on)
        take_running(&running, arguments);
    tg_insn_reader_end(&running.capstone, insn);
}

/* ---- both */

void tg_call_arguments_find(struct tg_modules *modules, const struct tg_inspect_memory *memory,
                            const struct tg_frame *caller, uint16_t wanted, uint16_t steady,
                            struct tg_call_arguments *arguments)
{
    uint64_t pc = caller->registers.value[TG_RIP], bias;
    *arguments = (struct tg_call_arguments){0};
    struct tg_debug_info *info =
        caller->is_activation ? NULL : tg_modules_debug_info_at(modules, pc - 1, &bias);
    struct tg_debug_units *units = info != NULL ? tg_debug_info_units(info) : NULL;
    if (units == NULL)
        return;
    Dwarf_Die scopes[MAX_SCOPES], site, unit, child;
    uint64_t address = pc - bias, delta = tg_debug_info_delta(info);
    size_t count = tg_debug_units_scopes_at(units, address - 1, scopes, MAX_SCOPES);
    if (count == 0)
        return;
    if (find_site(scopes, count, address - delta, &site))
        for (int more = dwarf_child(&site, &child); more == 0; more = dwarf_siblingof(&child, &child))
            take_parameter(&child, caller, bias + delta, memory, arguments);
    bool is_line = arguments->known == 0 && tg_debug_units_find(units, address - 1, &unit) &&
                   is_unoptimised(&scopes[count - 1], &unit);
    if (is_line)
        run_line(memory, caller, line_start(units, address - 1) + bias, pc, arguments);
    else if ((wanted & ~arguments->known) != 0)
        tg_call_constants_find(&scopes[count - 1], bias + delta, memory, pc, wanted, steady, arguments);
}
