/* Getting past a decoded instruction: emulation, and the registers around a displaced step. */
#include "recorder/process/insn_internal.h"

#include <assert.h>
#include <string.h>

enum {
    FLAG_CARRY = 0x001,
    FLAG_PARITY = 0x004,
    FLAG_ADJUST = 0x010,
    FLAG_ZERO = 0x040,
    FLAG_SIGN = 0x080,
    FLAG_TRAP = 0x100,
    FLAG_OVERFLOW = 0x800,
    STATUS_FLAGS = FLAG_CARRY | FLAG_PARITY | FLAG_ADJUST | FLAG_ZERO | FLAG_SIGN | FLAG_OVERFLOW,
    PUSHED_FLAGS = 0xfcffff, /* pushf: all but RF and VM */
};

/* The value of register REG (encoding order, below 16) in REGS. */
static unsigned long long *register_of(struct user_regs_struct *regs, unsigned reg)
{
    unsigned long long *const registers[16] = {
        &regs->rax, &regs->rcx, &regs->rdx, &regs->rbx, &regs->rsp, &regs->rbp, &regs->rsi, &regs->rdi,
        &regs->r8,  &regs->r9,  &regs->r10, &regs->r11, &regs->r12, &regs->r13, &regs->r14, &regs->r15,
    };
    assert(reg < 16);
    return registers[reg];
}

static uint64_t mask_of(unsigned width)
{
    return width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * width)) - 1;
}

/* An address as the instruction's mode has it. */
static uint64_t address_of(const struct tg_insn *insn, uint64_t address)
{
    return address & mask_of(insn->bits / 8);
}

/* False where a jump to TARGET may fault at the jump (5-level paging has more canonical addresses: there the
 * processor is asked). */
static bool is_surely_canonical(uint64_t target)
{
    return (int64_t)(target << 16) >> 16 == (int64_t)target;
}

static bool push(const struct tg_insn *insn, struct user_regs_struct *regs,
                 const struct tg_insn_memory *memory, uint64_t value)
{
    uint64_t stack = address_of(insn, regs->rsp - insn->width);
    if (!memory->write(memory->context, stack, &value, insn->width)) /* little-endian, like the target */
        return false;
    regs->rsp = stack;
    return true;
}

static bool read_stack(const struct tg_insn *insn, uint64_t stack, const struct tg_insn_memory *memory,
                       uint64_t *value)
{
    *value = 0;
    return memory->read(memory->context, stack, value, insn->width);
}

static bool condition_holds(unsigned condition, uint64_t flags)
{
    bool sign_differs = ((flags & FLAG_SIGN) != 0) != ((flags & FLAG_OVERFLOW) != 0);
    bool holds = false;
    switch (condition >> 1) {
    case 0:
        holds = flags & FLAG_OVERFLOW;
        break;
    case 1:
        holds = flags & FLAG_CARRY;
        break;
    case 2:
        holds = flags & FLAG_ZERO;
        break;
    case 3:
        holds = flags & (FLAG_CARRY | FLAG_ZERO);
        break;
    case 4:
        holds = flags & FLAG_SIGN;
        break;
    case 5:
        holds = flags & FLAG_PARITY;
        break;
    case 6:
        holds = sign_differs;
        break;
    default:
        holds = sign_differs || (flags & FLAG_ZERO);
        break;
    }
    return holds != (condition & 1);
}

/* loopne e0, loope e1, loop e2, jrcxz e3: changes the count, tells whether the jump is taken. */
static bool loop_taken(const struct tg_insn *insn, struct user_regs_struct *regs)
{
    unsigned kind = insn->condition & 3;
    uint64_t count = address_of(insn, regs->rcx);
    if (kind == 3)
        return count == 0;
    count = address_of(insn, count - 1);
    regs->rcx = count;
    bool zero = regs->eflags & FLAG_ZERO;
    return count != 0 && (kind == 2 || zero == (kind == 1));
}

static uint64_t arithmetic_flags(const struct tg_insn *insn, uint64_t a, uint64_t b, uint64_t result)
{
    uint64_t sign = UINT64_C(1) << (8 * insn->width - 1), flags = 0;
    if (insn->operation == TG_INSN_ADD) {
        flags |= result < a ? FLAG_CARRY : 0;
        flags |= (~(a ^ b) & (a ^ result) & sign) ? FLAG_OVERFLOW : 0;
        flags |= (a ^ b ^ result) & FLAG_ADJUST;
    } else if (insn->operation == TG_INSN_SUB || insn->operation == TG_INSN_CMP) {
        flags |= a < b ? FLAG_CARRY : 0;
        flags |= ((a ^ b) & (a ^ result) & sign) ? FLAG_OVERFLOW : 0;
        flags |= (a ^ b ^ result) & FLAG_ADJUST;
    } /* logic clears carry and overflow; AF is called undefined, and cleared by every processor known */
    flags |= result == 0 ? FLAG_ZERO : 0;
    flags |= result & sign ? FLAG_SIGN : 0;
    flags |= __builtin_parity(result & 0xff) ? 0 : FLAG_PARITY;
    return flags;
}

static void compute(const struct tg_insn *insn, struct user_regs_struct *regs)
{
    uint64_t mask = mask_of(insn->width);
    unsigned long long *destination = register_of(regs, insn->reg);
    uint64_t a = *destination & mask;
    uint64_t b =
        (insn->source == TG_INSN_NO_REGISTER ? (uint64_t)insn->immediate : *register_of(regs, insn->source)) &
        mask;
    uint64_t result = 0;
    switch ((enum tg_insn_operation)insn->operation) {
    case TG_INSN_MOV:
        *destination = b;
        return;
    case TG_INSN_ADD:
        result = (a + b) & mask;
        break;
    case TG_INSN_SUB:
    case TG_INSN_CMP:
        result = (a - b) & mask;
        break;
    case TG_INSN_OR:
        result = a | b;
        break;
    case TG_INSN_XOR:
        result = a ^ b;
        break;
    case TG_INSN_AND:
    case TG_INSN_TEST:
        result = a & b;
        break;
    case TG_INSN_OTHER:
    case TG_INSN_NOP:
    case TG_INSN_RET:
    case TG_INSN_PUSH:
    case TG_INSN_POP:
    case TG_INSN_PUSH_FLAGS:
    case TG_INSN_LEAVE:
    case TG_INSN_JUMP:
    case TG_INSN_JUMP_IF:
    case TG_INSN_LOOP:
    case TG_INSN_JUMP_REGISTER:
    case TG_INSN_CALL:
    case TG_INSN_CALL_REGISTER:
    case TG_INSN_LEA:
        assert(false);
    }
    regs->eflags = (regs->eflags & ~(uint64_t)STATUS_FLAGS) | arithmetic_flags(insn, a, b, result);
    if (insn->operation != TG_INSN_CMP && insn->operation != TG_INSN_TEST)
        *destination = result;
}

static uint64_t lea_address(const struct tg_insn *insn, struct user_regs_struct *regs, uint64_t next)
{
    uint64_t sum = (uint64_t)insn->immediate;
    if (insn->uses_rip)
        sum += next;
    if (insn->base != TG_INSN_NO_REGISTER)
        sum += *register_of(regs, insn->base);
    if (insn->index != TG_INSN_NO_REGISTER)
        sum += *register_of(regs, insn->index) << insn->scale;
    return sum & mask_of(insn->width);
}

/* ret, push, pop, pushf, leave and calls; false: memory could not be accessed or the target is doubtful. */
static bool emulate_stack(const struct tg_insn *insn, struct user_regs_struct *regs,
                          const struct tg_insn_memory *memory, uint64_t next, uint64_t *rip)
{
    uint64_t value = 0;
    switch ((enum tg_insn_operation)insn->operation) {
    case TG_INSN_RET:
        if (!read_stack(insn, address_of(insn, regs->rsp), memory, &value) || !is_surely_canonical(value))
            return false;
        regs->rsp = address_of(insn, regs->rsp + insn->width + (uint64_t)insn->immediate);
        *rip = value;
        return true;
    case TG_INSN_PUSH:
        value = insn->source == TG_INSN_NO_REGISTER ? (uint64_t)insn->immediate
                                                    : *register_of(regs, insn->source);
        return push(insn, regs, memory, value);
    case TG_INSN_PUSH_FLAGS:
        return push(insn, regs, memory, regs->eflags & PUSHED_FLAGS);
    case TG_INSN_POP:
        if (!read_stack(insn, address_of(insn, regs->rsp), memory, &value))
            return false;
        regs->rsp = address_of(insn, regs->rsp + insn->width);
        *register_of(regs, insn->reg) = value; /* pop rsp: the value read wins */
        return true;
    case TG_INSN_LEAVE:
        if (!read_stack(insn, address_of(insn, regs->rbp), memory, &value))
            return false;
        regs->rsp = address_of(insn, regs->rbp + insn->width);
        regs->rbp = value;
        return true;
    case TG_INSN_CALL:
    case TG_INSN_CALL_REGISTER:
        value = insn->operation == TG_INSN_CALL ? next + (uint64_t)insn->immediate
                                                : *register_of(regs, insn->reg);
        value = address_of(insn, value);
        if (!is_surely_canonical(value) || !push(insn, regs, memory, next))
            return false;
        *rip = value;
        return true;
    case TG_INSN_OTHER:
    case TG_INSN_NOP:
    case TG_INSN_JUMP:
    case TG_INSN_JUMP_IF:
    case TG_INSN_LOOP:
    case TG_INSN_JUMP_REGISTER:
    case TG_INSN_LEA:
    case TG_INSN_MOV:
    case TG_INSN_ADD:
    case TG_INSN_OR:
    case TG_INSN_AND:
    case TG_INSN_SUB:
    case TG_INSN_XOR:
    case TG_INSN_CMP:
    case TG_INSN_TEST:
        break;
    }
    return false;
}

bool tg_insn_emulate(const struct tg_insn *insn, struct user_regs_struct *regs,
                     const struct tg_insn_memory *memory)
{
    uint64_t next = address_of(insn, regs->rip + insn->length);
    uint64_t target = address_of(insn, next + (uint64_t)insn->immediate);
    uint64_t rip = next;
    switch ((enum tg_insn_operation)insn->operation) {
    case TG_INSN_OTHER:
        return false;
    case TG_INSN_NOP:
        break;
    case TG_INSN_JUMP:
        rip = target;
        break;
    case TG_INSN_JUMP_IF:
        rip = condition_holds(insn->condition, regs->eflags) ? target : next;
        break;
    case TG_INSN_LOOP:
        rip = loop_taken(insn, regs) ? target : next;
        break;
    case TG_INSN_JUMP_REGISTER:
        rip = address_of(insn, *register_of(regs, insn->reg));
        if (!is_surely_canonical(rip))
            return false;
        break;
    case TG_INSN_LEA:
        *register_of(regs, insn->reg) = lea_address(insn, regs, next);
        break;
    case TG_INSN_RET:
    case TG_INSN_PUSH:
    case TG_INSN_POP:
    case TG_INSN_PUSH_FLAGS:
    case TG_INSN_LEAVE:
    case TG_INSN_CALL:
    case TG_INSN_CALL_REGISTER:
        if (!emulate_stack(insn, regs, memory, next, &rip))
            return false;
        break;
    case TG_INSN_MOV:
    case TG_INSN_ADD:
    case TG_INSN_OR:
    case TG_INSN_AND:
    case TG_INSN_SUB:
    case TG_INSN_XOR:
    case TG_INSN_CMP:
    case TG_INSN_TEST:
        compute(insn, regs);
        break;
    }
    regs->rip = rip;
    return true;
}

void tg_insn_displace(const struct tg_insn *insn, uint64_t address, uint64_t scratch,
                      struct user_regs_struct *regs, uint64_t *saved_register)
{
    regs->rip = scratch;
    *saved_register = 0;
    if (insn->scratch_reg == TG_INSN_NO_REGISTER)
        return;
    unsigned long long *borrowed = register_of(regs, insn->scratch_reg);
    *saved_register = *borrowed;
    bool pushes_flags = !insn->uses_rip && insn->transfer == TG_INSN_TO_NEXT;
    *borrowed = pushes_flags ? regs->eflags & PUSHED_FLAGS : address_of(insn, address + insn->length);
}

/* The address at which the thread goes on, given that it is stopped at STOPPED after a copy that did not stay
 * at SCRATCH. */
static uint64_t transferred(const struct tg_insn *insn, uint64_t address, uint64_t scratch, uint64_t stopped,
                            struct user_regs_struct *regs, const struct tg_insn_memory *memory)
{
    uint64_t next = address_of(insn, address + insn->length);
    uint64_t behind = address_of(insn, scratch + insn->displaced_length);
    bool at_end = stopped == behind || stopped == address_of(insn, behind + 1); /* + 1: the int3 ran */
    switch ((enum tg_insn_transfer)insn->transfer) {
    case TG_INSN_TO_NEXT:
        return at_end ? next : stopped;
    case TG_INSN_TO_RELATIVE:
        return at_end ? next : address_of(insn, address + (stopped - scratch));
    case TG_INSN_TO_ABSOLUTE:
        return stopped;
    case TG_INSN_TO_CALLED: {
        /* The processor has just written there: that this fails takes a thread that unmaps the stack. */
        uint64_t return_address = next;
        (void)memory->write(memory->context, address_of(insn, regs->rsp), &return_address, insn->width);
        return stopped;
    }
    case TG_INSN_TO_PUSHED:
        return at_end ? address_of(insn, next + (uint64_t)insn->immediate) : stopped;
    case TG_INSN_TO_EMULATED:
        if (!at_end)
            return stopped;
        regs->rip = address;
        (void)tg_insn_emulate(insn, regs, memory); /* relative jumps always succeed */
        return regs->rip;
    case TG_INSN_TO_KERNEL:
        if (!at_end)
            return stopped;
        if (insn->bits == 64 && insn->bytes[insn->length - 1] == 0x05 && regs->rcx == behind) {
            regs->rcx = next;
            /* r11 is rflags as the system call found them; the kernel hides the step's TF in rflags alone. */
            regs->r11 = (regs->r11 & ~(uint64_t)FLAG_TRAP) | (regs->eflags & FLAG_TRAP);
        }
        return next;
    }
    return stopped;
}

enum tg_insn_outcome tg_insn_finish(const struct tg_insn *insn, uint64_t address, uint64_t scratch,
                                    uint64_t saved_register, struct user_regs_struct *regs,
                                    const struct tg_insn_memory *memory)
{
    uint64_t stopped = address_of(insn, regs->rip);
    if (insn->scratch_reg != TG_INSN_NO_REGISTER)
        *register_of(regs, insn->scratch_reg) = saved_register;
    if (stopped == scratch) {
        regs->rip = address;
        return TG_INSN_AGAIN;
    }
    regs->rip = transferred(insn, address, scratch, stopped, regs, memory);
    return TG_INSN_DONE;
}
