#include "recorder/unwind/unwind_expression.h"

#include <dwarf.h>

enum { MAX_STEPS = 4096, STACK_ITEMS = 64 };

struct machine {
    const Dwarf_Op *ops;
    size_t count;
    const struct tg_registers *registers;
    const struct tg_inspect_memory *memory;
    uint64_t cfa;
    uint64_t stack[STACK_ITEMS];
    size_t depth;
    bool is_value;
};

static bool push(struct machine *machine, uint64_t value)
{
    if (machine->depth == STACK_ITEMS)
        return false;
    machine->stack[machine->depth++] = value;
    return true;
}

/* The item N below the top, or NULL. */
static uint64_t *item(struct machine *machine, uint64_t n)
{
    return n < machine->depth ? &machine->stack[machine->depth - 1 - n] : NULL;
}

static bool push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
    return number < TG_REGISTER_COUNT && tg_registers_has(machine->registers, (enum tg_register)number) &&
           push(machine, machine->registers->value[number] + offset);
}

static bool pick(struct machine *machine, uint64_t n)
{
    const uint64_t *value = item(machine, n);
    return value != NULL && push(machine, *value);
}

static bool dereference(struct machine *machine, uint64_t size)
{
    uint64_t *top = item(machine, 0), value = 0;
    if (top == NULL || size == 0 || size > sizeof value ||
        !machine->memory->read(machine->memory->context, *top, &value, size))
        return false;
    *top = value;
    return true;
}

static bool unary(struct machine *machine, const Dwarf_Op *op)
{
    uint64_t *top = item(machine, 0);
    if (top == NULL)
        return false;
    switch (op->atom) {
    case DW_OP_abs:
        *top = (int64_t)*top < 0 ? -*top : *top;
        return true;
    case DW_OP_neg:
        *top = -*top;
        return true;
    case DW_OP_not:
        *top = ~*top;
        return true;
    case DW_OP_plus_uconst:
        *top += op->number;
        return true;
    case DW_OP_drop:
        machine->depth--;
        return true;
    default:
        return false;
    }
}

static bool divide(int64_t a, int64_t b, uint64_t *result)
{
    if (b == 0)
        return false;
    *result = b == -1 ? -(uint64_t)a : (uint64_t)(a / b);
    return true;
}

/* A OPERATION B; false: division by 0, or no such operation. */
static bool combine(unsigned atom, uint64_t a, uint64_t b, uint64_t *result)
{
#define OPERATION(atom, value)                                                                               \
    case atom:                                                                                               \
        *result = (uint64_t)(value);                                                                         \
        return true
    switch (atom) {
        OPERATION(DW_OP_and, a & b);
        OPERATION(DW_OP_or, a | b);
        OPERATION(DW_OP_xor, a ^ b);
        OPERATION(DW_OP_plus, a + b);
        OPERATION(DW_OP_minus, a - b);
        OPERATION(DW_OP_mul, a * b);
        OPERATION(DW_OP_shl, b < 64 ? a << b : 0);
        OPERATION(DW_OP_shr, b < 64 ? a >> b : 0);
        OPERATION(DW_OP_shra, (int64_t)a >> (b < 64 ? b : 63));
        OPERATION(DW_OP_le, (int64_t)a <= (int64_t)b);
        OPERATION(DW_OP_ge, (int64_t)a >= (int64_t)b);
        OPERATION(DW_OP_lt, (int64_t)a < (int64_t)b);
        OPERATION(DW_OP_gt, (int64_t)a > (int64_t)b);
        OPERATION(DW_OP_eq, a == b);
        OPERATION(DW_OP_ne, a != b);
    case DW_OP_div:
        return divide((int64_t)a, (int64_t)b, result);
    case DW_OP_mod:
        if (b != 0)
            *result = a % b;
        return b != 0;
    default:
        return false;
    }
#undef OPERATION
}

static bool binary(struct machine *machine, unsigned atom)
{
    uint64_t *top = item(machine, 0), *below = item(machine, 1), result;
    if (below == NULL || !combine(atom, *below, *top, &result))
        return false;
    *below = result;
    machine->depth--;
    return true;
}

static bool shuffle(struct machine *machine, unsigned atom)
{
    uint64_t *first = item(machine, 0), *second = item(machine, 1), *third = item(machine, 2);
    if (second == NULL || (atom == DW_OP_rot && third == NULL))
        return false;
    uint64_t top = *first;
    *first = *second;
    if (atom == DW_OP_swap) {
        *second = top;
    } else {
        *second = *third;
        *third = top;
    }
    return true;
}

/* Operations that push without taking anything, and memory. */
static bool load(struct machine *machine, const Dwarf_Op *op)
{
    unsigned atom = op->atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
        return push(machine, atom - DW_OP_lit0);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        return push_register(machine, atom - DW_OP_breg0, op->number);
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
        machine->is_value = true;
        return push_register(machine, atom - DW_OP_reg0, 0);
    }
    switch (atom) {
    case DW_OP_addr:
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return push(machine, op->number);
    case DW_OP_bregx:
        return push_register(machine, op->number, op->number2);
    case DW_OP_call_frame_cfa:
        return push(machine, machine->cfa);
    case DW_OP_dup:
        return pick(machine, 0);
    case DW_OP_over:
        return pick(machine, 1);
    case DW_OP_pick:
        return pick(machine, op->number);
    case DW_OP_deref:
        return dereference(machine, 8);
    case DW_OP_deref_size:
        return dereference(machine, op->number);
    case DW_OP_swap:
    case DW_OP_rot:
        return shuffle(machine, atom);
    case DW_OP_nop:
        return true;
    default:
        return unary(machine, op) || binary(machine, atom);
    }
}

/* The operation that the branch at I leads to; COUNT is the end. False: into the middle of nowhere. */
static bool branch(const struct machine *machine, size_t i, size_t *next)
{
    uint64_t target = machine->ops[i].offset + 3 + (uint64_t)(int16_t)machine->ops[i].number;
    for (size_t k = 0; k < machine->count; k++) {
        if (machine->ops[k].offset == target) {
            *next = k;
            return true;
        }
    }
    *next = machine->count;
    return machine->ops[machine->count - 1].offset < target;
}

bool tg_unwind_expression_run(const Dwarf_Op *ops, size_t count, const struct tg_registers *registers,
                              const struct tg_inspect_memory *memory, uint64_t cfa, uint64_t *result,
                              bool *is_value)
{
    struct machine machine = {
        .ops = ops, .count = count, .registers = registers, .memory = memory, .cfa = cfa};
    size_t i = 0;
    for (unsigned steps = 0; i < count; steps++) {
        if (steps == MAX_STEPS)
            return false;
        const Dwarf_Op *op = &ops[i++];
        bool ok = true;
        if (op->atom == DW_OP_stack_value) {
            machine.is_value = true;
        } else if (op->atom == DW_OP_skip) {
            ok = branch(&machine, i - 1, &i);
        } else if (op->atom == DW_OP_bra) {
            const uint64_t *top = item(&machine, 0);
            ok = top != NULL;
            machine.depth -= ok;
            if (ok && *top != 0)
                ok = branch(&machine, i - 1, &i);
        } else {
            ok = load(&machine, op);
        }
        if (!ok)
            return false;
    }
    if (machine.depth == 0)
        return false;
    *result = machine.stack[machine.depth - 1];
    *is_value = machine.is_value;
    return true;
}
