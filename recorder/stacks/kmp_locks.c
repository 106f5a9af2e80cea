#include "recorder/stacks/kmp_locks.h"

#include "recorder/dwarf/function_range.h"
#include "recorder/stacks/general_register.h"
#include "recorder/stacks/insn_reader.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_LOCK_BYTES = 4096,
    MAX_SLOTS = 8,
    MAX_STATES = 192,
    LOCK_OF_ENTRY = 2, /* arguments of __kmpc_set_lock and the like: location, number, lock */
    LOCK_OF_INNER = 0, /* of what they call: lock, number */
    NUMBER = 1,
};

/* What a register holds, as far as the code has come. */
struct held {
    enum { NOTHING, LOCK, OWN, WORD } what;
    int64_t offset; /* of LOCK: added to it; of WORD: its place in the lock */
    uint8_t shift;  /* OWN: own number << shift; WORD: word >> shift */
    int32_t bias;   /* and what is added then */
};

struct state {
    struct held held[TG_GENERAL_REGISTERS];
    int64_t stack; /* what was added to the stack pointer */
    struct {
        int64_t at; /* less the stack pointer at the function's first instruction */
        struct held held;
    } slots[MAX_SLOTS];
    size_t n_slots;
};

/* The code is read once, from its beginning on. What jumps ahead is remembered where it leads to; loops are taken to be as
 * they are when they are entered. */
struct reading {
    csh capstone;
    struct state now;
    bool is_open; /* the code before leads here */
    struct {
        uint64_t address;
        struct state state;
    } * ahead;
    size_t n_ahead;
    struct tg_kmp_form found;
};

static bool is_same(const struct held *a, const struct held *b)
{
    return a->what == b->what && a->offset == b->offset && a->shift == b->shift && a->bias == b->bias;
}

static const struct held *find_slot(const struct state *state, int64_t at)
{
    for (size_t i = 0; i < state->n_slots; i++)
        if (state->slots[i].at == at)
            return &state->slots[i].held;
    return NULL;
}

/* What holds in both. */
static void join(struct state *state, const struct state *other)
{
    for (size_t i = 0; i < TG_GENERAL_REGISTERS; i++)
        if (!is_same(&state->held[i], &other->held[i]))
            state->held[i] = (struct held){.what = NOTHING};
    for (size_t i = 0; i < state->n_slots;) {
        const struct held *same = find_slot(other, state->slots[i].at);
        if (same != NULL && is_same(same, &state->slots[i].held) && state->stack == other->stack)
            i++;
        else
            state->slots[i] = state->slots[--state->n_slots];
    }
}

/* The word of the lock that OPERAND is; false for others. */
static bool is_word(const struct reading *reading, const cs_x86_op *operand, int64_t *offset)
{
    int base = operand->type == X86_OP_MEM ? tg_general_register(operand->mem.base) : -1;
    if (base < 0 || operand->size != 4 || operand->mem.index != X86_REG_INVALID ||
        operand->mem.segment != X86_REG_INVALID || reading->now.held[base].what != LOCK)
        return false;
    *offset = reading->now.held[base].offset + operand->mem.disp;
    return true;
}

/* Whether OPERAND is in the function's frame. */
static bool is_slot(const struct reading *reading, const cs_x86_op *operand, int64_t *at)
{
    if (operand->type != X86_OP_MEM || operand->mem.base != X86_REG_RSP ||
        operand->mem.index != X86_REG_INVALID || operand->mem.segment != X86_REG_INVALID)
        return false;
    *at = reading->now.stack + operand->mem.disp;
    return true;
}

static struct held held_by(const struct reading *reading, const cs_x86_op *operand)
{
    struct held result = {.what = NOTHING};
    int place = operand->type == X86_OP_REG && operand->size >= 4 ? tg_general_register(operand->reg) : -1;
    if (place >= 0)
        return operand->size == 8 || reading->now.held[place].what != LOCK ? reading->now.held[place]
                                                                           : result;
    if (is_word(reading, operand, &result.offset)) {
        result.what = WORD;
        return result;
    }
    int64_t at;
    const struct held *slot = is_slot(reading, operand, &at) ? find_slot(&reading->now, at) : NULL;
    return slot != NULL && (operand->size == 8 || (operand->size == 4 && slot->what != LOCK)) ? *slot
                                                                                              : result;
}

/* A store into the frame. */
static void keep(struct reading *reading, const cs_insn *insn)
{
    const cs_x86_op *to = &insn->detail->x86.operands[0];
    struct state *now = &reading->now;
    int64_t at;
    if (insn->detail->x86.op_count == 0 || insn->id == X86_INS_CMP || insn->id == X86_INS_TEST ||
        !is_slot(reading, to, &at))
        return;
    for (size_t i = 0; i < now->n_slots;)
        if (now->slots[i].at < at + to->size && at < now->slots[i].at + 8)
            now->slots[i] = now->slots[--now->n_slots];
        else
            i++;
    if (insn->id != X86_INS_MOV || insn->detail->x86.operands[1].type != X86_OP_REG ||
        now->n_slots == MAX_SLOTS)
        return;
    struct held held = held_by(reading, &insn->detail->x86.operands[1]);
    if (held.what != NOTHING) {
        now->slots[now->n_slots].at = at;
        now->slots[now->n_slots++].held = held;
    }
}

static struct held add(struct held held, int64_t value)
{
    if (held.what == LOCK)
        held.offset += value;
    else
        held.bias += (int32_t)value;
    return held;
}

static struct held shift_right(struct held held, int64_t count)
{
    bool is_one = held.what == WORD && held.bias == 0 && count > 0 && held.shift + count < 31;
    return is_one ? (struct held){WORD, held.offset, (uint8_t)(held.shift + count), 0}
                  : (struct held){.what = NOTHING};
}

static struct held shift_left(struct held held, int64_t count)
{
    bool is_one = held.what == OWN && count > 0 && held.shift + count < 16;
    return is_one
               ? (struct held){OWN, 0, (uint8_t)(held.shift + count), (int32_t)((uint32_t)held.bias << count)}
               : (struct held){.what = NOTHING};
}

static struct held set_bits(struct held held, int64_t bits)
{
    bool is_sum =
        held.what == OWN && bits > 0 && bits < (INT64_C(1) << held.shift) && (held.bias & bits) == 0;
    return is_sum ? add(held, bits) : (struct held){.what = NOTHING};
}

/* What INSN puts into its first operand, a register. */
static struct held result_of(const struct reading *reading, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    const cs_x86_op *to = &x86->operands[0], *from = &x86->operands[1];
    const struct held before = held_by(reading, to), none = {.what = NOTHING};
    bool has_number = x86->op_count == 2 && from->type == X86_OP_IMM;
    if (x86->op_count == 2 && insn->id == X86_INS_MOV && to->size >= 4 && to->size == from->size)
        return held_by(reading, from);
    if (insn->id == X86_INS_LEA && from->mem.index == from->mem.base && from->mem.scale == 1 &&
        tg_general_register(from->mem.base) >= 0)
        return add(shift_left(reading->now.held[tg_general_register(from->mem.base)], 1), from->mem.disp);
    if (insn->id == X86_INS_LEA && from->mem.index == X86_REG_INVALID &&
        tg_general_register(from->mem.base) >= 0)
        return add(reading->now.held[tg_general_register(from->mem.base)], from->mem.disp);
    if (insn->id == X86_INS_ADD && has_number)
        return add(before, from->imm);
    if (insn->id == X86_INS_SUB && has_number)
        return add(before, -from->imm);
    if (insn->id == X86_INS_INC || insn->id == X86_INS_DEC)
        return add(before, insn->id == X86_INS_INC ? 1 : -1);
    if (insn->id == X86_INS_ADD && from->type == X86_OP_REG && from->reg == to->reg)
        return shift_left(before, 1);
    if ((insn->id == X86_INS_SAR || insn->id == X86_INS_SHR) && to->size == 4)
        return shift_right(before, has_number ? from->imm : 1);
    if ((insn->id == X86_INS_SHL || insn->id == X86_INS_SAL) && to->size == 4)
        return shift_left(before, has_number ? from->imm : 1);
    return insn->id == X86_INS_OR && has_number ? set_bits(before, from->imm) : none;
}

/* Whether INSN compares the owner of the lock with its own number. */
static bool is_comparison(struct reading *reading, const cs_insn *insn)
{
    const cs_x86_op *operands = insn->detail->x86.operands;
    if (insn->id != X86_INS_CMP || insn->detail->x86.op_count != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        struct held word = held_by(reading, &operands[i]), own = held_by(reading, &operands[1 - i]);
        if (word.what != WORD || own.what != OWN || own.shift != 0)
            continue;
        reading->found = (struct tg_kmp_form){
            .is_known = true, .offset = word.offset, .shift = word.shift, .bias = word.bias - own.bias};
        return true;
    }
    return false;
}

/* What the first CMPXCHG with its own number writes into the lock makes the thread its owner. */
static void take_exchange(struct reading *reading, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    int64_t offset;
    struct held own =
        x86->op_count == 2 ? held_by(reading, &x86->operands[1]) : (struct held){.what = NOTHING};
    if (insn->id == X86_INS_CMPXCHG && own.what == OWN && own.shift > 0 && !reading->found.is_known &&
        is_word(reading, &x86->operands[0], &offset))
        reading->found = (struct tg_kmp_form){
            .is_known = true, .is_whole = true, .offset = offset, .shift = own.shift, .bias = own.bias};
}

/* A bit of the word is set by threads that wait. */
static void take_bits(struct reading *reading, const cs_insn *insn)
{
    struct tg_kmp_form *form = &reading->found;
    const cs_x86_op *from = &insn->detail->x86.operands[1];
    if (insn->id == X86_INS_OR && form->is_whole && form->extra == 0 && from->type == X86_OP_IMM &&
        from->imm > 0 && from->imm < (INT64_C(1) << form->shift))
        form->extra = (int32_t)from->imm & ~form->bias;
}

static void forget(struct reading *reading, const uint16_t *registers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int place = tg_general_register(registers[i]);
        if (place >= 0)
            reading->now.held[place] = (struct held){.what = NOTHING};
    }
}

/* What INSN does to the stack pointer. */
static void move_stack(struct state *now, const cs_insn *insn)
{
    const cs_x86 *x86 = &insn->detail->x86;
    bool is_of_stack = x86->op_count == 2 && x86->operands[0].type == X86_OP_REG &&
                       x86->operands[0].reg == X86_REG_RSP && x86->operands[1].type == X86_OP_IMM;
    if (insn->id == X86_INS_PUSH || insn->id == X86_INS_POP)
        now->stack += insn->id == X86_INS_PUSH ? -8 : 8;
    else if (is_of_stack && (insn->id == X86_INS_SUB || insn->id == X86_INS_ADD))
        now->stack += insn->id == X86_INS_SUB ? -x86->operands[1].imm : x86->operands[1].imm;
}

static void take(struct reading *reading, const cs_insn *insn)
{
    static const uint16_t of_calls[] = {X86_REG_RAX, X86_REG_RCX, X86_REG_RDX, X86_REG_RSI, X86_REG_RDI,
                                        X86_REG_R8,  X86_REG_R9,  X86_REG_R10, X86_REG_R11};
    const cs_x86_op *to = &insn->detail->x86.operands[0];
    int place = insn->detail->x86.op_count > 0 && to->type == X86_OP_REG && to->size >= 4
                    ? tg_general_register(to->reg)
                    : -1;
    struct held result = place >= 0 ? result_of(reading, insn) : (struct held){.what = NOTHING};
    cs_regs read, written;
    uint8_t n_read, n_written;
    take_exchange(reading, insn);
    take_bits(reading, insn);
    keep(reading, insn);
    move_stack(&reading->now, insn);
    if (cs_insn_group(reading->capstone, insn, X86_GRP_CALL))
        forget(reading, of_calls, sizeof of_calls / sizeof *of_calls);
    else if (cs_regs_access(reading->capstone, insn, read, &n_read, written, &n_written) == 0)
        forget(reading, written, n_written);
    else
        reading->now = (struct state){.n_slots = 0};
    if (place >= 0 && insn->id != X86_INS_CMP && insn->id != X86_INS_TEST && insn->id != X86_INS_PUSH)
        reading->now.held[place] = result;
}

/* The state at TARGET, which is ahead, is this one, or what others that lead there have in common with it. */
static void remember(struct reading *reading, uint64_t target)
{
    for (size_t i = 0; i < reading->n_ahead; i++)
        if (reading->ahead[i].address == target) {
            join(&reading->ahead[i].state, &reading->now);
            return;
        }
    if (reading->n_ahead == MAX_STATES)
        return;
    reading->ahead[reading->n_ahead].address = target;
    reading->ahead[reading->n_ahead++].state = reading->now;
}

/* Takes what leads to ADDRESS. */
static void arrive(struct reading *reading, uint64_t address)
{
    for (size_t i = 0; i < reading->n_ahead; i++) {
        if (reading->ahead[i].address != address)
            continue;
        if (reading->is_open)
            join(&reading->now, &reading->ahead[i].state);
        else
            reading->now = reading->ahead[i].state;
        reading->is_open = true;
    }
}

/* One instruction; false: what was wanted is found. */
static bool pass(struct reading *reading, const cs_insn *insn)
{
    arrive(reading, insn->address);
    bool is_jump = cs_insn_group(reading->capstone, insn, X86_GRP_JUMP);
    const cs_x86_op *to = &insn->detail->x86.operands[0];
    if (!reading->is_open)
        return true;
    if (is_comparison(reading, insn))
        return false;
    if (is_jump && to->type == X86_OP_IMM && (uint64_t)to->imm > insn->address)
        remember(reading, (uint64_t)to->imm);
    if (insn->id == X86_INS_JMP || cs_insn_group(reading->capstone, insn, X86_GRP_RET))
        reading->is_open = false;
    else if (!is_jump)
        take(reading, insn);
    return true;
}

struct tg_kmp_form tg_kmp_form_read(const uint8_t *code, size_t size, uint64_t address, int lock)
{
    static const uint16_t arguments[] = {X86_REG_RDI, X86_REG_RSI, X86_REG_RDX};
    struct reading reading = {.is_open = true, .ahead = calloc(MAX_STATES, sizeof *reading.ahead)};
    cs_insn *insn;
    if (reading.ahead == NULL || !tg_insn_reader_begin(&reading.capstone, &insn)) {
        free(reading.ahead);
        return reading.found;
    }
    reading.now.held[tg_general_register(arguments[lock])] = (struct held){.what = LOCK};
    reading.now.held[tg_general_register(arguments[NUMBER])] = (struct held){.what = OWN};
    while (cs_disasm_iter(reading.capstone, &code, &size, &address, insn) && pass(&reading, insn))
        ;
    tg_insn_reader_end(&reading.capstone, insn);
    free(reading.ahead);
    return reading.found;
}

int32_t tg_kmp_form_owner(const struct tg_kmp_form *form, int32_t word)
{
    int64_t owner;
    if (form->is_whole) {
        int64_t rest = (int64_t)word - form->bias;
        int64_t low = rest & ((INT64_C(1) << form->shift) - 1);
        owner = low == 0 || low == form->extra ? (rest - low) >> form->shift : -1;
    } else {
        owner = (int64_t)(word >> form->shift) + form->bias;
    }
    return owner >= 0 && owner < TG_KMP_MAX_NUMBER ? (int32_t)owner : -1;
}

/* ---- threads that wait */

/* Functions that a program calls, or that its compiler has it call, and that come back with the lock. */
static bool waits_for_lock(const char *function)
{
    static const char *const names[] = {"__kmpc_set_lock", "__kmpc_set_nest_lock", "__kmpc_critical",
                                        "__kmpc_critical_with_hint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    return false;
}

/* Whether a caller at INDEX, that is not at the edge of an interruption, is such a function. */
static bool is_entry(struct tg_modules *modules, const struct tg_call_stack *stack, size_t index)
{
    const char *name;
    uint64_t offset;
    return index > 0 && tg_kmp_is_runtime(stack->frames[index].module) &&
           tg_modules_symbol_at(modules, stack->frames[index].pc - 1, &name, &offset) && waits_for_lock(name);
}

/* By the function at INDEX, which has a lock as argument LOCK. */
static bool find_at(const struct tg_stack_process *process, struct tg_kept_arguments *kept,
                    const struct tg_inspect_memory *memory, const struct tg_call_stack *stack, size_t index,
                    int lock, struct tg_kmp_wait *wait)
{
    uint8_t code[MAX_LOCK_BYTES];
    struct tg_call_arguments arguments = {.known = 0};
    struct tg_function_range range;
    uint64_t bias, pc = stack->frames[index].pc - 1;
    int32_t word;
    struct tg_debug_info *info = tg_modules_debug_info_at(process->modules, pc, &bias);
    if (info == NULL ||
        !tg_function_range_find(tg_image_object(tg_debug_info_image(info)), pc - bias, &range))
        return false;
    size_t size = range.end - range.start < sizeof code ? range.end - range.start : sizeof code;
    if (!memory->read(memory->context, range.start + bias, code, size))
        return false;
    struct tg_kmp_form form = tg_kmp_form_read(code, size, range.start + bias, lock);
    if (!form.is_known)
        return false;
    tg_kept_arguments_find_at(kept, process->modules, memory, stack, index, range.start + bias,
                              (uint16_t)(1u << lock | 1u << NUMBER), (uint16_t)(1u << lock), &arguments);
    if ((arguments.known >> lock & 1) == 0)
        return false;
    uint64_t address = arguments.value[lock] + (uint64_t)form.offset;
    if (!memory->read(memory->context, address, &word, sizeof word))
        return false;
    *wait =
        (struct tg_kmp_wait){.address = address,
                             .owner = tg_kmp_form_owner(&form, word),
                             .waiter = arguments.known >> NUMBER & 1 ? (int32_t)arguments.value[NUMBER] : -1};
    return wait->owner >= 0;
}

bool tg_kmp_wait_find(const struct tg_stack_process *process, struct tg_kept_arguments *kept,
                      const struct tg_inspect_memory *memory, const struct tg_call_stack *stack,
                      struct tg_kmp_wait *wait)
{
    size_t entry = 0;
    if (!process->kmp_numbers.is_known)
        return false;
    while (entry < stack->count && !is_entry(process->modules, stack, entry))
        entry++;
    if (entry >= stack->count)
        return false;
    if (find_at(process, kept, memory, stack, entry, LOCK_OF_ENTRY, wait))
        return true;
    for (size_t i = entry; i-- > 1 && tg_kmp_is_runtime(stack->frames[i].module);)
        if (find_at(process, kept, memory, stack, i, LOCK_OF_INNER, wait))
            return true;
    return false;
}
